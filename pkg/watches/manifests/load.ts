import * as yup from 'yup';
import { kindOf, readManifests, refuseTwins, type Manifest } from '../../config/index.ts';
import { parseWatchCreate, ServiceError } from '../../contract/index.ts';
import type { WantedWatch } from '../mirror.ts';

/** A `Watch` document of a file, for a machine without a cluster. */
export type WatchManifest = WantedWatch & {
  /** Namespace and name: a document that moves to another file is still the same watch. */
  name: string;
  where: string;
};

const DNS_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const name = () =>
  yup.string().matches(DNS_NAME, '${path} must be lower-case letters, digits, "-" and ".", at most 253');

const document = yup
  .object({
    apiVersion: yup.string().oneOf(['searchcapture.io/v1alpha1']).required(),
    kind: yup.string().oneOf(['Watch']).required(),
    metadata: yup.object({ name: name().required(), namespace: name().optional() }).required(),
    // The rest of the spec is judged as a request is.
    spec: yup
      .object({
        suspend: yup.boolean().optional(),
        apiKeySecretRef: yup
          .object({ name: yup.string().required(), key: yup.string().required() })
          .noUnknown(true, '${path} has unknown keys: ${unknown}')
          .optional()
          .default(undefined),
      })
      .required(),
    status: yup.mixed().optional(),
  })
  .noUnknown(true, '${path} has unknown keys: ${unknown}')
  .required('a Watch document is required');

/**
 * The Watch documents of the `*.yaml` files in `dir`, in their order; lanes may stand beside them. Throws a plain error
 * that names the file and the field when one is not as a cluster would take it, or when two have the same name.
 */
export async function loadWatchManifests(dir: string): Promise<WatchManifest[]> {
  const found = (await readManifests(dir)).filter((manifest) => kindOf(manifest) === 'Watch').map(parseWatchManifest);
  refuseTwins(found, 'metadata.name', (manifest) => manifest.name);
  return found;
}

function parseWatchManifest({ value, where }: Manifest): WatchManifest {
  try {
    const { metadata, spec } = document.validateSync(value, { strict: true, abortEarly: false });
    // The key of the Secret is of a cluster: here the watch belongs to whoever reads the file.
    const { suspend, apiKeySecretRef: _, ...draft } = spec;
    return {
      name: `${metadata.namespace ?? 'default'}/${metadata.name}`,
      where,
      draft: parseWatchCreate(draft),
      suspended: suspend === true,
    };
  } catch (error) {
    if (error instanceof ServiceError) throw new Error(`${where}: spec: ${error.message}`, { cause: error });
    if (!(error instanceof yup.ValidationError)) throw error;
    throw new Error(error.errors.map((message) => `${where}: ${message}`).join('\n'), { cause: error });
  }
}
