import { createServer } from 'node:http';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { startChild } from '../../cmd/standalone/servers/child.ts';
import type { Guard } from '../../cmd/standalone/servers/guard.ts';
import { findFreePort } from '../../cmd/standalone/servers/ports.ts';
import { waitUntilReady } from '../../cmd/standalone/servers/ready.ts';
import { runCommand } from '../../pkg/runtime/index.ts';
import { closeServer, portOf, startListening } from '../../pkg/telemetry/index.ts';
import type { StartedSoftware } from '../support/chainlit.ts';
import { installPython } from '../support/python.ts';

/** What both assistants answer, piece by piece; then the question, as they understood it. */
export const PIECES = [
  'City bikes are **sturdy**: see the [guide](https://guides.example/bikes?utm_source=chat&id=1).\n\n',
  '- disc brakes\n- lights from the [lab](https://lab.example/lights)\n\n',
  '```python\nprint("ride")\n```\n\n',
  '| Kind | Price |\n| --- | --- |\n| used | 90 |\n\n',
];
const SAY = `import json, time
def say(question):
    for piece in json.loads(${JSON.stringify(JSON.stringify(PIECES))}) + ["You asked: \`" + json.dumps(question, ensure_ascii=False) + "\`"]:
        time.sleep(0.2)
        yield piece
`;
const GRADIO = `${SAY}
import gradio, sys
def answer(message, history):
    text = ""
    for piece in say(message):
        text += piece
        yield text
gradio.ChatInterface(answer).launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True)
`;
const STREAMLIT = `${SAY}
import streamlit
question = streamlit.chat_input("Ask")
if question:
    with streamlit.chat_message("user"):
        streamlit.text(question)
    with streamlit.chat_message("assistant"):
        streamlit.write_stream(say(question))
`;
const START_TIMEOUT_MS = 120_000;
const BUILD_TIMEOUT_MS = 120_000;
const LOOK_TIMEOUT_MS = 3_000;

export type Place = { dir: string; guard: Guard };

export async function startGradio(place: Place): Promise<StartedSoftware> {
  const bin = await installPython({ name: 'gradio', version: '6.31.0' });
  return startApp(place, 'gradio', GRADIO, (file, port) => [join(bin, 'python'), file, String(port)]);
}

export async function startStreamlit(place: Place): Promise<StartedSoftware> {
  const bin = await installPython({ name: 'streamlit', version: '1.67.0' });
  return startApp(place, 'streamlit', STREAMLIT, (file, port) => [
    ...[join(bin, 'streamlit'), 'run', file, '--server.headless', 'true', '--server.address', '127.0.0.1'],
    ...['--server.port', String(port), '--browser.gatherUsageStats', 'false'],
  ]);
}

async function startApp(
  { dir, guard }: Place,
  name: string,
  source: string,
  commandFor: (file: string, port: number) => string[],
): Promise<StartedSoftware> {
  const cwd = join(dir, name);
  const file = join(cwd, 'app.py');
  await write(file, source);
  const port = await findFreePort();
  const [command = '', ...args] = commandFor(file, port);
  const logFile = join(dir, `${name}.log`);
  const child = await startChild({
    ...{ name, command, args, cwd, logFile, guard, channel: false },
    env: { ...process.env, TMPDIR: cwd, HOME: cwd, GRADIO_ANALYTICS_ENABLED: 'False' },
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(url, { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) })).ok;
  await waitUntilReady(child, { logFile, timeoutMs: START_TIMEOUT_MS, isReady });
  return { url, stop: child.stop };
}

/** The pages of both documentations: `bicycle` stands in two of them. */
const PAGES = [
  { name: 'brakes', title: 'Disc brakes', text: 'Every bicycle stops sooner with discs in the rain.' },
  { name: 'lights', title: 'Lights', text: 'A bicycle at night needs a dynamo.' },
  { name: 'boats', title: 'Boats', text: 'Nothing here rolls.' },
];

export async function startMkdocs({ dir }: Place): Promise<StartedSoftware> {
  const bin = await installPython({ name: 'mkdocs-material', version: '9.8.1' });
  const root = join(dir, 'mkdocs');
  await write(join(root, 'mkdocs.yml'), 'site_name: Bikes\ntheme: { name: material }\nplugins: [search]\n');
  for (const { name, title, text } of [{ name: 'index', title: 'Home', text: 'Welcome.' }, ...PAGES])
    await write(join(root, 'docs', `${name}.md`), `# ${title}\n\n${text}\n`);
  await runCommand(join(bin, 'mkdocs'), ['build', '-q', '-f', join(root, 'mkdocs.yml')], {
    timeoutMs: BUILD_TIMEOUT_MS,
  });
  return serveFolder(join(root, 'site'));
}

export async function startSphinx({ dir }: Place): Promise<StartedSoftware> {
  const bin = await installPython({ name: 'sphinx', version: '9.0.4', also: ['furo==2025.12.19'] });
  const root = join(dir, 'sphinx');
  await write(join(root, 'conf.py'), "project = 'Bikes'\nhtml_theme = 'furo'\n");
  const names = PAGES.map(({ name }) => `   ${name}\n`).join('');
  await write(join(root, 'index.rst'), `Bikes\n=====\n\n.. toctree::\n\n${names}`);
  for (const { name, title, text } of PAGES)
    await write(join(root, `${name}.rst`), `${title}\n${'='.repeat(title.length)}\n\n${text}\n`);
  const out = join(root, 'site');
  await runCommand(join(bin, 'sphinx-build'), ['-q', '-b', 'html', root, out], { timeoutMs: BUILD_TIMEOUT_MS });
  return serveFolder(out);
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

async function serveFolder(root: string): Promise<StartedSoftware> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site');
    const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
    // The URL parser has taken `..` away.
    readFile(join(root, decodeURIComponent(path))).then(
      (file) => response.end(file),
      () => response.writeHead(404).end(),
    );
  });
  await startListening(server, '127.0.0.1', 0);
  return { url: `http://127.0.0.1:${portOf(server)}`, stop: () => closeServer(server, 0) };
}
