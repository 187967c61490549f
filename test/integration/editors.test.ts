import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { ensureChromium } from '../../cmd/standalone/servers/programs.ts';
import { createDrivers, parseLane, type Drivers } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { closeServer, createLog, portOf, startListening } from '../../pkg/telemetry/index.ts';

// The editors that chat interfaces embed, as their packages ship them: a question must stand in each of them whole.

const SOURCE = fileURLToPath(new URL('../support/editors/editors.mjs', import.meta.url));
const PAGE = `<!doctype html><meta charset="utf-8"><title>Editor</title><style>#editor { min-height: 40px; border: 1px solid }</style>
  <div id="editor"></div><button id="send">Send</button><pre id="answer"></pre><script src="/editors.js"></script>`;
const QUESTIONS = {
  fill: 'Which bike?\n  - “light” & <b>cheap</b>\n\n1. 自転車 🚲 {x}\n- brakes',
  // Some editors make a list of `- ` and indent the next line while one types, as they do for a person.
  type: 'Which bike?\n“light” & <b>cheap</b>\n\nA 自転車 🚲 {x}\nor brakes',
};
type Verb = keyof typeof QUESTIONS;

let server: Server;
let bundle: string;
let drivers: Drivers;

const lane = (editor: string, verb: Verb) =>
  parseLane(
    {
      apiVersion: 'searchcapture.io/v1alpha1',
      kind: 'CaptureLane',
      metadata: { name: `${editor}-${verb}`.replace(' ', '-') },
      spec: {
        surface: 'assistant_one',
        driver: 'browser',
        profile: {
          go: {
            url: `http://127.0.0.1:${portOf(server)}/#${encodeURIComponent(editor)}`,
            until: '#editor[contenteditable], #editor [contenteditable=true]',
          },
          ask: [
            { [verb]: '#editor[contenteditable], #editor [contenteditable=true]', with: '{query}' },
            { click: '#send' },
          ],
          finished: { quietMs: 100 },
          read: { answer: '#answer' },
        },
      },
    },
    'a lane of this test',
  );

const EDITORS = ['quill', 'lexical', 'tiptap', 'codemirror', 'slate', 'no library'];
const CASES = EDITORS.flatMap((editor): [string, Verb][] => [
  [editor, 'fill'],
  [editor, 'type'],
]);

beforeAll(async () => {
  const bundled = await build({
    entryPoints: [SOURCE],
    bundle: true,
    write: false,
    format: 'iife',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  bundle = bundled.outputFiles[0]?.text ?? '';
  server = createServer(({ url }, response) => {
    response.setHeader('content-type', url === '/editors.js' ? 'text/javascript; charset=utf-8' : 'text/html');
    response.end(url === '/editors.js' ? bundle : PAGE);
  });
  await startListening(server, '127.0.0.1', 0);
  const machine = { path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0, say: () => undefined };
  drivers = await createDrivers({
    lanes: CASES.map(([editor, verb]) => lane(editor, verb)),
    browserExecutable: await ensureChromium(machine, process.env['BROWSER_EXECUTABLE'] ?? ''),
    env: {},
    secretsDir: '',
    clock: systemClock,
    log: createLog('test', 'silent'),
  });
});
afterAll(async () => {
  await drivers.close();
  await closeServer(server, 0);
});

describe('a question of several lines arrives whole', () => {
  it.each(CASES)('in %s, by %s', async (editor, verb) => {
    const task = { captureId: 'c', surface: 'assistant_one', query: QUESTIONS[verb], region: null } as const;
    const result = await drivers
      .of(lane(editor, verb))
      .capture({ ...task, wantsProof: false, timeoutMs: 40_000 }, new AbortController().signal);
    const said = 'answer' in result ? result.answer.text : JSON.stringify({ ...result, screenshot: undefined });
    // Editors write some spaces as no-break spaces.
    expect(said.replaceAll('\u00A0', ' ')).toBe(QUESTIONS[verb]);
  });
});
