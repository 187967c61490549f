import { mkdir } from 'node:fs/promises';
import pino from 'pino';
import { loadSettings } from '../../pkg/config/index.ts';
import { runProcess } from '../../pkg/runtime/index.ts';
import { bringUp } from './bring-up.ts';
import { stopWithParent } from './parent.ts';
import { findPlaces } from './places.ts';
import { createTerminal } from './terminal.ts';

// More than the slowest part may take to stop.
const RELEASE_TIMEOUT_MS = 45_000;

const terminal = createTerminal(Date.now(), Date.now, (text) => void process.stdout.write(text));
const places = findPlaces();
await mkdir(places.logs, { recursive: true });
const log = pino(pino.destination({ dest: places.log('standalone'), sync: true }));

stopWithParent(process.env['STOP_WITH_PARENT'] === '1');
await runProcess({ log, releaseTimeoutMs: RELEASE_TIMEOUT_MS }, async (scope) => {
  // Registered first, so it runs last.
  scope.defer('farewell', () => {
    terminal.say('Stopped');
    return Promise.resolve();
  });
  try {
    const settings = loadSettings(process.env, ['host', 'port', 'browserExecutable']);
    await bringUp({ scope, terminal, places, settings });
  } catch (error) {
    // Whatever was starting when Ctrl-C came has failed, and rightly so.
    if (scope.signal.aborted) return;
    terminal.print(`\n${error instanceof Error ? error.message : String(error)}\n`);
    throw error;
  }
});
