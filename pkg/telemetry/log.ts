import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** The process's logger: JSON lines on stdout, without credentials and without what customers asked. */
export function createLog(process: string, level: string): Logger {
  return pino({
    level,
    base: { process },
    redact: {
      paths: ['*.authorization', '*.cookie', '*.secret', '*.key', '*.webhook.secret', 'authorization', 'secret', 'key'],
      censor: '[redacted]',
    },
  });
}
