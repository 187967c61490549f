import { randomBytes } from 'node:crypto';

export type DemoKey = { accountId: string; key: string };

export type DemoKeyOptions = {
  /** From the last start. */
  saved: Partial<DemoKey>;
  baseUrl: string;
  /** Runs the operator's command line and returns what it printed with --json. */
  runScs: (args: readonly string[]) => Promise<unknown>;
};

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * An API key that works: the one of the last start, or a new one with an account of its own. Asking the service is the
 * only sure way: the data may have been replaced since.
 */
export async function ensureDemoKey(options: DemoKeyOptions): Promise<DemoKey> {
  const { accountId, key } = options.saved;
  if (accountId !== undefined && key !== undefined && (await works(options.baseUrl, key))) return { accountId, key };
  const account = await createAccount(options.runScs);
  const created = await options.runScs(['key', 'create', '--account', account, '--json']);
  return { accountId: account, key: readText(created, 'key') };
}

async function works(baseUrl: string, key: string): Promise<boolean> {
  const response = await fetch(`${baseUrl}/v1/usage`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  await response.body?.cancel();
  return response.status !== 401;
}

async function createAccount(runScs: DemoKeyOptions['runScs']): Promise<string> {
  const create = async (email: string): Promise<string> =>
    readText(await runScs(['account', 'create', '--name', 'demo', '--email', email, '--json']), 'accountId');
  try {
    return await create('demo@localhost');
  } catch {
    // The address is taken when an earlier start was interrupted before it had saved the key. When something else was
    // wrong, the second attempt fails as well and says so.
    return create(`demo-${randomBytes(3).toString('hex')}@localhost`);
  }
}

function readText(value: unknown, name: string): string {
  if (typeof value === 'object' && value !== null) {
    const found: unknown = Object.entries(value).find(([key]) => key === name)?.[1];
    if (typeof found === 'string') return found;
  }
  throw new Error(`scs printed no ${name}: ${JSON.stringify(value)}`);
}
