import { spawn } from 'node:child_process';
import { pause, runCommand } from '../../pkg/runtime/index.ts';

// The first search on a fresh release: an account, a key, the API forwarded to this machine, and an answer.
const [namespace = 'search-capture'] = process.argv.slice(2);
const PORT = 8080;
const BASE = `http://127.0.0.1:${PORT}`;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const kubectl = (args: readonly string[]): Promise<string> =>
  runCommand('kubectl', ['--namespace', namespace, ...args], { timeoutMs: 120_000 });

async function scs(words: readonly string[], field: string): Promise<string> {
  const text = await kubectl(['exec', 'deploy/search-capture-api', '-c', 'api', '--', 'scs', ...words, '--json']);
  const result: unknown = JSON.parse(text);
  return typeof result === 'object' && result !== null ? String(Reflect.get(result, field)) : '';
}

const email = `demo-${String(Date.now())}@search.example`;
const account = await scs(['account', 'create', '--name', 'Demo', '--email', email, '--plan', 'pro'], 'accountId');
const key = await scs(['key', 'create', '--account', account], 'key');

const words = ['--namespace', namespace, 'port-forward', 'svc/search-capture-api', `${PORT}:80`];
const forward = spawn('kubectl', words, { stdio: 'ignore' });
try {
  const body = { query: 'Which city bikes are best?', surfaces: ['assistant_one'] };
  const answer = await ask(body);
  say(JSON.stringify(answer, null, 2).slice(0, 1_500));
  say(`\nThe API key is ${key}. Ask again:\n\n  make port-forward &\n  curl -s ${BASE}/v1/search \\`);
  say(`    -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\\n    -d '${JSON.stringify(body)}'`);
} finally {
  forward.kill();
}

/** The forwarding takes a moment to stand. */
async function ask(body: object): Promise<unknown> {
  const untilMs = Date.now() + 30_000;
  for (;;) {
    try {
      const response = await fetch(`${BASE}/v1/search`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(100_000),
      });
      return await response.json();
    } catch (error) {
      if (Date.now() > untilMs) throw error;
      await pause(500);
    }
  }
}
