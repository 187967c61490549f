import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import {
  createKey,
  findPlan,
  insertAccount,
  isScope,
  loadPlans,
  revokeKey,
  SCOPES,
  type KeyMode,
} from '../../pkg/accounts/index.ts';
import { openArtifactStore, readPicture } from '../../pkg/artifacts/index.ts';
import { createKeyring, loadSettings } from '../../pkg/config/index.ts';
import { grant, STARTING_CREDITS } from '../../pkg/credits/index.ts';
import { readLanes, type LaneState } from '../../pkg/lanes/index.ts';
import { systemClock } from '../../pkg/runtime/index.ts';
import { createSecret, listSecrets, rotateSecret } from '../../pkg/webhooks/index.ts';
import type { Command, Context, Result, Values } from './command.ts';
import { printSchema, tryOneLane } from './lane.ts';
import { UsageError } from './usage.ts';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const clock = systemClock;
const STORE_SETTINGS = [
  'artifactStore',
  'artifactDir',
  's3Endpoint',
  's3Bucket',
  's3Region',
  's3AccessKeyId',
  's3SecretAccessKey',
  's3ForcePathStyle',
] as const;

export const COMMANDS: readonly Command[] = [
  {
    words: ['account', 'create'],
    usage: 'account create --name N --email E [--plan P] [--credits C]',
    help: `Makes an account with its signing secret; it starts with ${STARTING_CREDITS} credits unless --credits says otherwise.`,
    options: { name: text, email: text, plan: text, credits: text },
    run: createAccount,
  },
  {
    words: ['key', 'create'],
    usage: 'key create --account A [--mode live|test] [--internal] [--scopes a,b]',
    help: `Makes an API key and shows it once. Scopes: ${SCOPES.join(', ')}; default all.`,
    options: { account: text, mode: text, internal: flag, scopes: text },
    run: createApiKey,
  },
  {
    words: ['key', 'revoke'],
    usage: 'key revoke KEY_ID',
    help: 'Ends a key for good, within seconds.',
    options: {},
    takesId: true,
    run: revokeApiKey,
  },
  {
    words: ['credits', 'grant'],
    usage: 'credits grant --account A --amount N',
    help: 'Adds credits to the balance of an account.',
    options: { account: text, amount: text },
    run: grantCredits,
  },
  {
    words: ['secret', 'create'],
    usage: 'secret create --account A',
    help: 'Makes another webhook signing secret; it signs from now on. Shown once.',
    options: { account: text },
    run: (context, values) => makeSecret(context, values, createSecret),
  },
  {
    words: ['secret', 'rotate'],
    usage: 'secret rotate --account A',
    help: 'Makes a new signing secret; the old ones stay valid for verification for 24 hours. Shown once.',
    options: { account: text },
    run: (context, values) => makeSecret(context, values, rotateSecret),
  },
  {
    words: ['secret', 'list'],
    usage: 'secret list --account A',
    help: 'Lists signing secrets, never their values.',
    options: { account: text },
    run: showSecrets,
  },
  {
    words: ['lane', 'try'],
    usage: 'lane try FILE --query "…" [--region DE:Berlin:de] [--headed] [--trace DIR] [--name LANE]',
    help: 'Captures once by the document in FILE and tells what each step and selector found. Needs no service.',
    options: { query: text, region: text, headed: flag, trace: text, name: text },
    takesId: true,
    runAlone: tryOneLane,
  },
  {
    words: ['lane', 'schema'],
    usage: 'lane schema',
    help: 'Prints the JSON Schema of spec.profile, as config/lanes/profile.schema.json holds it.',
    options: {},
    runAlone: printSchema,
  },
  {
    words: ['capture', 'picture'],
    usage: 'capture picture CHILD_ID --to FILE',
    help: 'Writes the picture of the page that refused a capture.',
    options: { to: text },
    takesId: true,
    run: savePicture,
  },
  { words: ['lanes'], usage: 'lanes', help: 'Lists the lanes and whether they can work.', options: {}, run: showLanes },
];

function required(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value.trim() === '') throw new UsageError(`--${name} is required`);
  return value;
}

function wholeNumber(name: string, given: string, min: number): number {
  const value = Number(given);
  if (!Number.isSafeInteger(value) || value < min)
    throw new UsageError(`--${name} must be a whole number of at least ${min}`);
  return value;
}

async function requireAccount({ db }: Context, values: Values): Promise<string> {
  const accountId = required(values, 'account');
  if ((await findPlan(db.system, accountId)) === null)
    throw new UsageError(`--account: no account is named ${accountId}`);
  return accountId;
}

async function createAccount({ db, settings }: Context, values: Values): Promise<Result> {
  const plans = await loadPlans(settings.plansDir);
  const plan = values['plan'] === undefined ? 'free' : required(values, 'plan');
  if (!plans.ids().includes(plan)) throw new UsageError(`--plan must be one of ${plans.ids().join(', ')}`);
  const credits =
    values['credits'] === undefined ? STARTING_CREDITS : wholeNumber('credits', required(values, 'credits'), 0);
  const account = { name: required(values, 'name'), email: required(values, 'email'), plan };
  const keyring = createKeyring(settings.secretsKeyring);
  // One transaction: no account is ever without its secret and its grant.
  const accountId = await db.inTransaction(async (sql) => {
    const id = await insertAccount(sql, clock, account);
    if (credits > 0) await grant(sql, id, credits);
    await createSecret(sql, { accountId: id, keyring, clock, randomBytes });
    return id;
  });
  return { data: { accountId, plan, credits }, text: `Account ${accountId} on plan ${plan} with ${credits} credits` };
}

async function createApiKey(context: Context, values: Values): Promise<Result> {
  const accountId = await requireAccount(context, values);
  const scopes = typeof values['scopes'] === 'string' ? values['scopes'].split(',').map((scope) => scope.trim()) : [];
  const unknown = scopes.filter((scope) => !isScope(scope));
  if (unknown.length > 0)
    throw new UsageError(`--scopes: ${unknown.join(', ')} is not a scope; there are ${SCOPES.join(', ')}`);
  const deps = { pepper: context.settings.apiKeyPepper, clock };
  const made = await createKey(context.db.system, deps, {
    accountId,
    mode: readMode(values),
    scopes: scopes.filter(isScope),
  });
  return { data: made, text: `Key ${made.keyId}\n${made.key}\nIt is shown only now.` };
}

function readMode(values: Values): KeyMode {
  if (values['internal'] === true) return 'internal';
  const mode = values['mode'] ?? 'live';
  if (mode === 'live' || mode === 'test') return mode;
  throw new UsageError('--mode must be live or test');
}

async function revokeApiKey({ db }: Context, _values: Values, [keyId]: string[]): Promise<Result> {
  if (keyId === undefined) throw new UsageError('Usage: scs key revoke KEY_ID');
  if (!(await revokeKey(db.system, keyId))) throw new UsageError(`no key is named ${keyId}`);
  return { data: { keyId, revoked: true }, text: `Revoked ${keyId}` };
}

async function grantCredits(context: Context, values: Values): Promise<Result> {
  const accountId = await requireAccount(context, values);
  const amount = wholeNumber('amount', required(values, 'amount'), 1);
  await context.db.inTransaction((sql) => grant(sql, accountId, amount));
  return { data: { accountId, amount }, text: `Granted ${amount} credits to ${accountId}` };
}

async function makeSecret(context: Context, values: Values, make: typeof createSecret): Promise<Result> {
  const accountId = await requireAccount(context, values);
  const keyring = createKeyring(context.settings.secretsKeyring);
  const made = await context.db.inTransaction((sql) => make(sql, { accountId, keyring, clock, randomBytes }));
  return {
    data: { secretId: made.id, secret: made.value },
    text: `Secret ${made.id}\n${made.value}\nIt is shown only now.`,
  };
}

async function showSecrets(context: Context, values: Values): Promise<Result> {
  const accountId = await requireAccount(context, values);
  const secrets = await listSecrets(context.db.system, { accountId });
  const lines = secrets.map(
    ({ id, status, createdAt, expiresAt }) => `${id}  ${status}  ${createdAt}  ${expiresAt ?? ''}`,
  );
  return { data: { secrets }, text: lines.length === 0 ? 'No secrets' : lines.join('\n') };
}

async function showLanes({ db }: Context): Promise<Result> {
  const lanes = [...(await readLanes(db.system)).values()];
  const lines = lanes.map(
    ({ surface, name, live, unavailableReason, notes, refusals }) =>
      `${surface}  ${name}  ${describeState(live, refusals)}  ${[unavailableReason ?? '', ...notes].filter((text) => text !== '').join('; ')}`,
  );
  return { data: { lanes }, text: lines.length === 0 ? 'No lanes' : lines.join('\n') };
}

function describeState(live: boolean, refusals: LaneState['refusals']): string {
  if (!live) return 'suspended';
  if (refusals === null) return 'live';
  const { inRow, lastAt, captureId, detail } = refusals;
  return `degraded (refused ${inRow} in a row, last at ${lastAt} in ${captureId}: ${detail})`;
}

/** `scs capture picture ID --to FILE`: what a page looked like that refused us, for the operator's eyes only. */
async function savePicture({ db }: Context, values: Values, [captureId]: string[]): Promise<Result> {
  if (captureId === undefined) throw new UsageError('which capture? Usage: scs capture picture CHILD_ID --to FILE');
  const file = required(values, 'to');
  const store = await openArtifactStore(loadSettings(process.env, STORE_SETTINGS), db.system);
  try {
    const bytes = await readPicture(db.system, store, captureId);
    if (bytes === null)
      throw new UsageError(`no picture is kept of ${captureId}: one of each surface is, every ten minutes`);
    await writeFile(file, bytes);
    return { data: { captureId, file, bytes: bytes.byteLength }, text: `Wrote ${file}` };
  } finally {
    await store.close();
  }
}
