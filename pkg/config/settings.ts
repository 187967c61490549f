import * as yup from 'yup';

type Setting = {
  variable: string;
  help: string;
  secret?: boolean;
  schema: yup.AnySchema;
};

const text = yup.string();
const wholeNumber = (min: number, max: number) => yup.number().integer().min(min).max(max);

/** Every setting of every process: one table, read once at start (design, "First use"). */
const SETTINGS = {
  databaseUrl: { variable: 'DATABASE_URL', help: 'Postgres, as postgres://…', secret: true, schema: text.required() },
  databasePoolSize: {
    variable: 'DATABASE_POOL_SIZE',
    help: 'Connections per pool',
    schema: wholeNumber(1, 200).default(10),
  },
  redisUrl: { variable: 'REDIS_URL', help: 'Redis, as redis://…', secret: true, schema: text.required() },
  host: { variable: 'HOST', help: 'Address to listen on', schema: text.default('127.0.0.1') },
  port: { variable: 'PORT', help: 'Port of the API', schema: wholeNumber(0, 65535).default(8080) },
  probePort: {
    variable: 'PROBE_PORT',
    help: 'Port of probes and metrics; 0 takes any free one',
    schema: wholeNumber(0, 65535).default(0),
  },
  publicBaseUrl: {
    variable: 'PUBLIC_BASE_URL',
    help: 'Base of the absolute URLs in answers',
    schema: text.matches(/^https?:\/\/[^?#]+$/, 'must be an http(s) URL').default('http://127.0.0.1:8080'),
  },
  artifactStore: {
    variable: 'ARTIFACT_STORE',
    help: 'Where proof pages are kept',
    schema: text.oneOf(['folder', 'postgres', 's3'] as const).default('postgres'),
  },
  artifactDir: {
    variable: 'ARTIFACT_DIR',
    help: 'Folder of ARTIFACT_STORE=folder',
    schema: text.default('.local/artifacts'),
  },
  s3Endpoint: {
    variable: 'S3_ENDPOINT',
    help: 'Address of an S3-compatible store for ARTIFACT_STORE=s3; AWS when not set',
    schema: text
      .matches(/^https?:\/\/[^?#]+$/, { message: 'must be an http(s) URL', excludeEmptyString: true })
      .default(''),
  },
  s3Bucket: {
    variable: 'S3_BUCKET',
    help: 'Bucket that exists already; needed for ARTIFACT_STORE=s3',
    schema: text.default(''),
  },
  s3Region: { variable: 'S3_REGION', help: 'Region of the bucket', schema: text.default('us-east-1') },
  s3AccessKeyId: {
    variable: 'S3_ACCESS_KEY_ID',
    help: 'Key for the bucket; when not set, the identity of the workload',
    secret: true,
    schema: text.default(''),
  },
  s3SecretAccessKey: {
    variable: 'S3_SECRET_ACCESS_KEY',
    help: 'Secret of S3_ACCESS_KEY_ID',
    secret: true,
    schema: text.default(''),
  },
  s3ForcePathStyle: {
    variable: 'S3_FORCE_PATH_STYLE',
    help: 'true: the bucket stands in the path, false: in the host name',
    schema: yup.boolean().default(true),
  },
  lanesDir: {
    variable: 'LANES_DIR',
    help: 'Folder with the CaptureLane documents; `make run` reads Watch documents there too',
    schema: text.default('config/lanes'),
  },
  lanesPublishedBy: {
    variable: 'LANES_PUBLISHED_BY',
    help: 'Who says which surfaces are live: the lane processes, or in a cluster the controller',
    schema: text.oneOf(['lane', 'controller'] as const).default('lane'),
  },
  podName: {
    variable: 'POD_NAME',
    help: 'Name of the pod in a cluster; not set elsewhere',
    schema: text.default(''),
  },
  podNamespace: {
    variable: 'POD_NAMESPACE',
    help: 'Namespace of POD_NAME',
    schema: text.default(''),
  },
  lanePodsFile: {
    variable: 'LANE_PODS_FILE',
    help: 'How the controller makes the pods of lanes',
    schema: text.default('config/lane-pods.yaml'),
  },
  watchNamespace: {
    variable: 'WATCH_NAMESPACE',
    help: 'The only namespace that the controller looks at; all of them when not set',
    schema: text.default(''),
  },
  leaseName: {
    variable: 'LEASE_NAME',
    help: 'Lease by which one of the controllers leads; it stands in their own namespace',
    schema: text.default('search-capture-controller'),
  },
  secretsDir: {
    variable: 'SECRETS_DIR',
    help: 'Folder with a file <name>/<key> for each secret that a lane names',
    schema: text.default('.local/secrets'),
  },
  plansDir: { variable: 'PLANS_DIR', help: 'Folder with the plans', schema: text.default('config/plans') },
  pricesFile: {
    variable: 'PRICES_FILE',
    help: 'Credits per successful capture, by surface',
    schema: text.default('config/prices.yaml'),
  },
  logLevel: {
    variable: 'LOG_LEVEL',
    help: 'How much is logged',
    schema: text.oneOf(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  },
  apiKeyPepper: {
    variable: 'API_KEY_PEPPER',
    help: 'Keys the hashes of API keys',
    secret: true,
    schema: text.min(16).required(),
  },
  secretsKeyring: {
    variable: 'SECRETS_KEYRING',
    help: 'kid:base64 of 32 bytes[,…]; the first encrypts, all decrypt',
    secret: true,
    schema: text.required(),
  },
  shutdownGraceSeconds: {
    variable: 'SHUTDOWN_GRACE_SECONDS',
    help: 'How long requests and captures under way may take to end when the process is asked to stop',
    schema: wholeNumber(1, 900).default(10),
  },
  webhookExtraDestinations: {
    variable: 'WEBHOOK_EXTRA_DESTINATIONS',
    help: 'host:port[,…] that webhooks may reach although not public',
    schema: text.default(''),
  },
  webhookRetentionDays: {
    variable: 'WEBHOOK_RETENTION_DAYS',
    help: 'How long a webhook delivery is kept after it has ended; one that waits longer is given up',
    schema: wholeNumber(3, 3650).default(30),
  },
  browserExecutable: {
    variable: 'BROWSER_EXECUTABLE',
    help: 'Path of Chromium; found on PATH when not set',
    schema: text.default(''),
  },
  syncWaitSeconds: {
    variable: 'SYNC_WAIT_SECONDS',
    help: 'How long a synchronous search waits',
    schema: wholeNumber(1, 120).default(90),
  },
  leaseSeconds: {
    variable: 'LEASE_SECONDS',
    help: 'How long a lane owns a capture without a sign of life',
    schema: wholeNumber(1, 600).default(30),
  },
  retryBackoffSeconds: {
    variable: 'RETRY_BACKOFF_SECONDS',
    help: 'Pause before the second attempt; doubles for the third',
    schema: wholeNumber(0, 600).default(2),
  },
  watchSpreadSeconds: {
    variable: 'WATCH_SPREAD_SECONDS',
    help: 'Watches with the same tick are dispatched spread over so long; 0: at once',
    schema: wholeNumber(0, 3600).default(0),
  },
  announceAgainSeconds: {
    variable: 'ANNOUNCE_AGAIN_SECONDS',
    help: 'When a capture still waits so long after it was announced, it is announced again',
    schema: wholeNumber(1, 3600).default(30),
  },
} satisfies Record<string, Setting>;

type Table = typeof SETTINGS;
export type SettingName = keyof Table;
type Value<N extends SettingName> = yup.InferType<Table[N]['schema']>;
export type Settings<N extends SettingName> = { readonly [K in N]: Value<K> };

/**
 * Reads the named settings from the environment. Throws one error that lists every variable that is missing or wrong.
 */
export function loadSettings<const N extends SettingName>(env: NodeJS.ProcessEnv, names: readonly N[]): Settings<N> {
  const problems: string[] = [];
  const values = names.map((name): [string, unknown] => {
    const { variable, schema, help }: Setting = SETTINGS[name];
    const given = env[variable];
    try {
      const value: unknown = schema.validateSync(
        given === undefined || given === '' ? undefined : coerce(schema, given),
      );
      return [name, value];
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace('this', 'it') : String(error);
      problems.push(`${variable} (${help}): ${reason}`);
      return [name, undefined];
    }
  });
  if (problems.length > 0) throw new Error(`Settings are wrong:\n  ${problems.join('\n  ')}`);
  const settings: unknown = Object.freeze(Object.fromEntries(values));
  if (!holds(settings, names)) throw new Error('unreachable: every name was just read');
  return settings;
}

/** Every setting as `docs/settings.md` lists it. The default is null where a value must be given. */
export function listSettings(): { variable: string; help: string; default: string | null; secret: boolean }[] {
  return Object.values<Setting>(SETTINGS).map(({ variable, help, secret = false, schema }) => {
    const value: unknown = schema.getDefault();
    return {
      variable,
      help,
      secret,
      default: typeof value === 'string' ? value : value === undefined ? null : JSON.stringify(value),
    };
  });
}

function coerce(schema: yup.AnySchema, given: string): unknown {
  return schema.type === 'number' ? Number(given) : given;
}

function holds<N extends SettingName>(settings: unknown, names: readonly N[]): settings is Settings<N> {
  return typeof settings === 'object' && settings !== null && names.every((name) => name in settings);
}

/** The settings as they may be logged: secrets are shown as set or not. */
export function redact(settings: Partial<Record<SettingName, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, isSecret(name) ? '[set]' : value]));
}

function isSecret(name: string): boolean {
  const table: Record<string, Setting> = SETTINGS;
  return table[name]?.secret === true;
}
