import { homedir } from 'node:os';
import { ensureProgram, type Machine, type Program } from '../../../pkg/runtime/index.ts';

const REDIS: Program = {
  title: 'Redis',
  names: ['redis-server'],
  packages: { 'apt-get': ['redis-server'], apk: ['redis'], dnf: ['redis', 'valkey-compat-redis'], brew: ['redis'] },
  service: 'redis-server',
};

const CHROMIUM: Program = {
  title: 'Chromium',
  names: [
    'chromium-headless-shell',
    'chrome-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    `${homedir()}/Applications/Google Chrome.app/Contents/MacOS/Google Chrome`,
  ],
  packages: {
    'apt-get': ['chromium-headless-shell', 'chromium'],
    apk: ['chromium'],
    dnf: ['chromium-headless', 'chromium'],
    brew: ['chromium'],
  },
  variable: 'BROWSER_EXECUTABLE',
};

export function ensureRedis(machine: Machine): Promise<string> {
  return ensureProgram(REDIS, machine);
}

/** The user's own choice is taken unseen: the lane says what is wrong with it. */
export async function ensureChromium(machine: Machine, chosen: string): Promise<string> {
  return chosen === '' ? ensureProgram(CHROMIUM, machine) : chosen;
}
