#!/usr/bin/env node
// Starts the operator's command line from a checkout, whatever Node `npx` happens to run: on the project's own Node, and
// with the addresses and secrets that `make run` left in .local/env. Variables that are set already win.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const envFile = fileURLToPath(new URL('.local/env', root));
if (existsSync(envFile)) process.loadEnvFile(envFile);

const ownNode = fileURLToPath(new URL('node_modules/.bin/node', root));
const main = fileURLToPath(new URL('main.ts', import.meta.url));
const child = spawn(existsSync(ownNode) ? ownNode : process.execPath, [main, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// Ctrl-C reaches both: the command decides how to end, and we end with it.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('error', (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
