import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import * as yup from 'yup';

const objects = () => yup.array().of(yup.object().required()).default([]);
const only = <S extends yup.ObjectShape>(shape: S) =>
  yup.object(shape).noUnknown(true, '${path} has unknown keys: ${unknown}').nonNullable();

const POD_SETTINGS = only({
  image: yup.string().min(1).required(),
  imagePullPolicy: yup.string().oneOf(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  imagePullSecrets: objects(),
  /** Where the pods get DATABASE_URL, REDIS_URL and the settings of the artifact store: as in a PodSpec. */
  envFrom: objects(),
  env: objects(),
  seccompProfile: yup.object().default({ type: 'RuntimeDefault' }),
  networkPolicy: only({
    enabled: yup.boolean().default(true),
    /** Rules that let the pods reach Postgres, Redis and the artifact store. */
    egress: objects(),
    /** Where the pods find DNS, as in a rule's `to`. */
    dns: yup
      .array()
      .of(yup.object().required())
      .default([{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }]),
    /** Who may read the metrics, as in a rule's `from`; everybody when empty. */
    metricsFrom: objects(),
  }),
});

/** How the pods of all lanes are made, as far as no lane says otherwise. */
export type PodSettings = yup.InferType<typeof POD_SETTINGS>;

/** Reads the file that LANE_PODS_FILE names; an error names it and lists every fault. */
export async function loadPodSettings(path: string): Promise<PodSettings> {
  return parsePodSettings(parse(await readFile(path, 'utf8')), path);
}

export function parsePodSettings(value: unknown, path: string): PodSettings {
  try {
    POD_SETTINGS.validateSync(value, { strict: true, abortEarly: false });
    return POD_SETTINGS.cast(value);
  } catch (error) {
    if (!(error instanceof yup.ValidationError)) throw error;
    throw new Error(error.errors.map((message) => `${path}: ${message}`).join('\n'), { cause: error });
  }
}
