import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where things stand in a checkout. Absolute: the launcher may be started from anywhere. */
export type Places = ReturnType<typeof findPlaces>;

export function findPlaces() {
  const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
  const local = join(root, '.local');
  return {
    root,
    local,
    lock: join(local, 'run.pid'),
    envFile: join(local, 'env'),
    logs: join(local, 'log'),
    postgres: join(local, 'postgres'),
    redis: join(local, 'redis'),
    artifacts: join(local, 'artifacts'),
    command: (name: string) => join(root, 'cmd', name, 'main.ts'),
    log: (name: string) => join(local, 'log', `${name}.log`),
  };
}
