import * as yup from 'yup';
import {
  MODEL_APIS,
  parseHostRule,
  parseHttpProfile,
  parseProfile,
  type HttpProfile,
  type Profile,
} from '../capture/index.ts';
import { SURFACES, type Surface } from '../contract/index.ts';

const LANE_API_VERSION = 'searchcapture.io/v1alpha1';
const LANE_KIND = 'CaptureLane';

const BROWSERS = ['headless-shell', 'chromium'] as const;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const COUNTRY = /^[A-Z]{2}$/;
const ENVIRONMENT_VARIABLE = /^[A-Z][A-Z0-9_]*$/;

const whole = (min: number, max: number) => yup.number().integer().min(min).max(max);
const text = () => yup.string().min(1).max(512);
const only = <S extends yup.ObjectShape>(shape: S) =>
  yup.object(shape).noUnknown(true, '${path} has unknown keys: ${unknown}').nonNullable();

const stringMap = () => yup.mixed(isStringMap).typeError('${path} must map names to strings');
const openObject = () => yup.mixed(isRecord).typeError('${path} must be an object');
const secretRef = () => only({ name: text().required(), key: text().required() });

const scaling = only({
  minReplicas: whole(0, 1000).default(0),
  maxReplicas: whole(1, 1000).default(3),
  capturesPerPod: whole(1, 100).default(2),
  activationQueue: whole(1, 100_000).default(1),
  cooldownSeconds: whole(0, 86_400).default(300),
  stabilizationSeconds: whole(0, 3600).default(60),
  pollSeconds: whole(1, 300).default(5),
  fallback: only({ failureThreshold: whole(1, 100).default(3), replicas: whole(0, 1000).default(1) }),
});

const browser = only({
  executable: yup.string().oneOf(BROWSERS).default('headless-shell'),
  concurrency: whole(1, 16).default(2),
  allowHosts: yup.array().of(yup.string().required().test('host', isHostRule)).default([]),
  recycle: only({
    uses: whole(1, 100_000).default(50),
    ageSeconds: whole(1, 604_800).default(3600),
    memoryMiB: whole(64, 1_048_576).default(2048),
  }),
});

const proof = only({ screenshot: yup.boolean().default(false) });

const timeouts = only({ captureSeconds: whole(1, 900).default(120), queueSeconds: whole(1, 86_400).default(900) });

const egress = yup
  .array()
  .of(
    only({
      country: yup.string().matches(COUNTRY, '${path} must be two upper-case letters, like "DE"').required(),
      proxySecretRef: secretRef().required(),
    }),
  )
  .default([]);

const pod = only({
  labels: stringMap().default({}),
  annotations: stringMap().default({}),
  resources: only({ requests: stringMap().default({}), limits: stringMap().default({}) }),
  nodeSelector: stringMap().default({}),
  tolerations: yup.array().of(openObject().required()).default([]),
  affinity: openObject().optional(),
  priorityClassName: text().optional(),
  secretEnv: yup
    .array()
    .of(
      only({
        variable: yup
          .string()
          .matches(ENVIRONMENT_VARIABLE, '${path} must be the name of an environment variable')
          .required(),
        secretRef: secretRef().required(),
      }),
    )
    .default([]),
});

const model = only({
  endpoint: yup
    .string()
    .test('http-url', '${path} must be an http(s) URL without query, like https://models.example/v1', isHttpBase)
    .required(),
  model: text().required(),
  api: yup.string().oneOf(MODEL_APIS).default('chat'),
  webSearch: yup.boolean().default(false),
  links: only({
    unwrap: yup
      .array()
      .of(only({ host: text().required(), parameter: text().optional() }))
      .default([]),
    strip: yup.array().of(text().required()).default([]),
  }),
  apiKeyEnv: yup
    .string()
    .matches(ENVIRONMENT_VARIABLE, '${path} must be the name of an environment variable')
    .optional(),
  providerId: text().optional(),
});

const document = only({
  apiVersion: yup.string().oneOf([LANE_API_VERSION]).required(),
  kind: yup.string().oneOf([LANE_KIND]).required(),
  // The API server adds fields of its own here, so only the name is ours to judge.
  metadata: yup
    .object({
      name: yup
        .string()
        .matches(DNS_LABEL, '${path} must be lower-case letters, digits and "-", at most 63')
        .required(),
    })
    .required(),
  spec: only({
    surface: yup.string().oneOf(SURFACES).required(),
    suspend: yup.boolean().default(false),
    // In a cluster only, where `kubectl scale` and other autoscalers write it.
    replicas: whole(0, 1000).optional().default(undefined),
    driver: yup.string().oneOf(['browser', 'model', 'http']).required(),
    profile: yup.mixed().optional(),
    model: model.optional().default(undefined),
    modelSecretRef: secretRef().optional().default(undefined),
    httpSecretRef: secretRef().optional().default(undefined),
    scaling,
    browser,
    proof,
    timeouts,
    egress,
    pod,
  }).required(),
  status: yup.mixed().optional(),
});

/** A `model` section, with the provider named after the endpoint's host where the document names none. */
type ModelSection = Omit<yup.InferType<typeof model>, 'providerId'> & { providerId: string };

type CommonSpec = {
  surface: Surface;
  suspend: boolean;
  /** A fixed number of pods, in place of scaling by demand. */
  replicas?: number;
  scaling: yup.InferType<typeof scaling>;
  browser: yup.InferType<typeof browser>;
  proof: yup.InferType<typeof proof>;
  timeouts: yup.InferType<typeof timeouts>;
  egress: yup.InferType<typeof egress>;
  pod: yup.InferType<typeof pod>;
  /** The Secret whose value the controller hands to the lane's pods as `model.apiKeyEnv`. */
  modelSecretRef?: { name: string; key: string };
  /** The same for the variable that `profile.go.secret.env` of an http lane names. */
  httpSecretRef?: { name: string; key: string };
};

/** What a lane is to do, with every default filled in (design, "Custom resources"). */
export type LaneSpec = CommonSpec &
  (
    | { driver: 'browser'; profile: Profile }
    | { driver: 'http'; profile: HttpProfile }
    | { driver: 'model'; model: ModelSection }
  );

export type CaptureLane = {
  apiVersion: typeof LANE_API_VERSION;
  kind: typeof LANE_KIND;
  metadata: { name: string };
  spec: LaneSpec;
};

/**
 * Reads one CaptureLane document and fills its defaults. `path` says where it came from. Throws one plain error that
 * lists every problem as `path: what is wrong and what is allowed`.
 *
 * A `profileRef` is not followed here: whoever can read the cluster puts the profile in its place first.
 */
export function parseLane(value: unknown, path: string): CaptureLane {
  if (isRecord(value) && isRecord(value['spec']) && 'profileRef' in value['spec']) {
    throw new Error(`${path}: spec.profileRef works in a cluster only; write the profile itself under spec.profile`);
  }
  const { metadata, spec } = validate(value, path);
  const { minReplicas, maxReplicas } = spec.scaling;
  if (minReplicas > maxReplicas) {
    throw new Error(
      `${path}: spec.scaling.minReplicas (${minReplicas}) must not be above maxReplicas (${maxReplicas})`,
    );
  }
  const { driver, profile, model: section, modelSecretRef, httpSecretRef, replicas, ...common } = spec;
  const shared = {
    ...common,
    ...(replicas === undefined ? {} : { replicas }),
    ...(modelSecretRef === undefined ? {} : { modelSecretRef }),
    ...(httpSecretRef === undefined ? {} : { httpSecretRef }),
  };
  const build = (whole: LaneSpec): CaptureLane => ({
    apiVersion: LANE_API_VERSION,
    kind: LANE_KIND,
    metadata: { name: metadata.name },
    spec: whole,
  });
  if (driver !== 'model') {
    if (section !== undefined)
      throw new Error(`${path}: spec.model belongs to driver model; this lane's driver is ${driver}`);
    if (profile === undefined) throw new Error(`${path}: spec.profile is required with driver ${driver}`);
    const place = `${path}: spec.profile`;
    if (driver === 'http') return build({ ...shared, driver, profile: parseHttpProfile(profile, place) });
    return build({ ...shared, driver, profile: parseProfile(profile, place) });
  }
  if (profile !== undefined)
    throw new Error(`${path}: spec.profile belongs to drivers browser and http; this lane's driver is model`);
  if (section === undefined) throw new Error(`${path}: spec.model is required with driver model`);
  return build({
    ...shared,
    driver,
    model: { ...section, providerId: section.providerId ?? new URL(section.endpoint).hostname },
  });
}

function validate(value: unknown, path: string): yup.InferType<typeof document> {
  try {
    // Strict first, so that "3" is never taken for 3; the cast after it only fills in defaults.
    document.required('a CaptureLane document is required').validateSync(value, { strict: true, abortEarly: false });
    return document.cast(value);
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    throw new Error(error.errors.map((message) => `${path}: ${message}`).join('\n'), { cause: error });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStringMap(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((entry) => typeof entry === 'string');
}

function isHostRule(value: string | undefined, context: yup.TestContext): true | yup.ValidationError {
  try {
    parseHostRule(value ?? '');
    return true;
  } catch (error) {
    return context.createError({
      message: `${context.path}: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

function isHttpBase(value: string | undefined): boolean {
  if (value === undefined || !URL.canParse(value)) return false;
  const url = new URL(value);
  return ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === '' && url.username === '';
}
