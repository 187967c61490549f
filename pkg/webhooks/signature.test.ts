import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as yup from 'yup';
import { sign, verify } from './signature.ts';

const run = promisify(execFile);
const guide = await readFile(path.join(import.meta.dirname, '../../docs/webhooks.md'), 'utf8');

/** The code block of the guide after a heading or label. */
function blockAfter(label: string, language: string): string {
  const [, rest = ''] = guide.split(`\n${label}\n`);
  const [, block] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(rest) ?? [];
  if (block === undefined) throw new Error(`the guide has no ${language} block after "${label}"`);
  return block;
}

const vectorSchema = yup.object({
  secret: yup.string().required(),
  timestamp: yup.number().required(),
  body: yup.string().defined(),
  signature: yup.string().required(),
});
const vectors = yup
  .array(vectorSchema)
  .required()
  .validateSync(JSON.parse(blockAfter('## Test vectors', 'json')));

/** What any receiver must decide, derived from the published vectors. */
const cases = vectors.flatMap(({ secret, timestamp, body, signature }) => {
  const right = { timestamp: String(timestamp), body, signature, secrets: [secret], now: timestamp, valid: true };
  return [
    right,
    { ...right, secrets: ['whsec_other', secret] },
    { ...right, now: timestamp + 300 },
    { ...right, now: timestamp + 301, valid: false },
    { ...right, now: timestamp - 301, valid: false },
    { ...right, body: `${body} `, valid: false },
    { ...right, timestamp: String(timestamp + 1), valid: false },
    { ...right, timestamp: `0${timestamp}`, valid: false },
    { ...right, timestamp: 'now', valid: false },
    { ...right, secrets: [secret.replace('whsec_', '') + '!'], valid: false },
    { ...right, secrets: [], valid: false },
    { ...right, signature: signature.toUpperCase(), valid: false },
    { ...right, signature: signature.slice(2), valid: false },
    { ...right, signature: '', valid: false },
  ];
});

describe('sign', () => {
  it('has published vectors', () => {
    expect(vectors.length).toBeGreaterThanOrEqual(3);
  });

  it.each(vectors)('signs $body as the guide says', ({ secret, timestamp, body, signature }) => {
    expect(sign(secret, timestamp, body)).toBe(signature);
    expect(sign(secret, timestamp, Buffer.from(body))).toBe(signature);
  });
});

describe('verify', () => {
  it.each(cases)(
    'finds $signature of $body at $now valid: $valid',
    ({ timestamp, signature, body, secrets, now, valid }) => {
      expect(verify({ timestamp, signature, rawBody: body, secrets, nowSeconds: now })).toBe(valid);
    },
  );
});

describe("the guide's code", () => {
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'webhook-guide-'));
    await writeFile(path.join(dir, 'cases.json'), JSON.stringify(cases));
    await writeFile(path.join(dir, 'verify.mjs'), blockAfter('Node:', 'js'));
    await writeFile(path.join(dir, 'check.mjs'), CHECK_IN_NODE);
    await writeFile(path.join(dir, 'verify.py'), blockAfter('Python:', 'python'));
    await writeFile(path.join(dir, 'check.py'), CHECK_IN_PYTHON);
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  it('decides every case alike in Node', async () => {
    const { stdout } = await run(process.execPath, ['check.mjs'], { cwd: dir, timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual(cases.map(({ valid }) => valid));
  });

  // Python is brought by `make test` (test/support/provision.ts).
  it('decides every case alike in Python', async () => {
    const { stdout } = await run('python3', ['check.py'], { cwd: dir, timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual(cases.map(({ valid }) => valid));
  });
});

const CHECK_IN_NODE = `
import { readFileSync } from 'node:fs';
import { verifyWebhook } from './verify.mjs';
const cases = JSON.parse(readFileSync('cases.json', 'utf8'));
console.log(JSON.stringify(cases.map((c) => verifyWebhook(Buffer.from(c.body), c.timestamp, c.signature, c.secrets, c.now))));
`;

const CHECK_IN_PYTHON = `
import json
from verify import verify_webhook
cases = json.load(open("cases.json", encoding="utf-8"))
print(json.dumps([
    verify_webhook(c["body"].encode(), c["timestamp"], c["signature"], c["secrets"], c["now"]) for c in cases
]))
`;
