import { findFaults } from '../../profile/faults.ts';
import type { HttpProfile } from './profile.ts';
import { HTTP_PROFILE_RULES } from './rules.ts';

type Secret = { env: string; prefix?: string } & ({ header: string } | { parameter: string });

/** A profile as it is written, with its defaults left out. */
type WrittenProfile = Pick<HttpProfile, 'links' | 'model'> & {
  go: Pick<HttpProfile['go'], 'url' | 'form' | 'json'> &
    Partial<Pick<HttpProfile['go'], 'method' | 'headers' | 'applies'>> & { secret?: Secret };
  read: Omit<HttpProfile['read'], 'results' | 'answer'> & {
    results?: WithOptionalFormat<NonNullable<HttpProfile['read']['results']>>;
    answer?: WithOptionalFormat<NonNullable<HttpProfile['read']['answer']>>;
  };
  classify?: HttpProfile['classify'];
};
type WithOptionalFormat<T extends { format: string }> = Omit<T, 'format'> & Partial<Pick<T, 'format'>>;

/**
 * An http driver's profile from a document, defaults filled in. Throws one error that lists every fault as
 * `path: message`; `path` is where the profile stands in its document, for example `spec.profile`.
 */
export function parseHttpProfile(value: unknown, path: string): HttpProfile {
  const faults: string[] = [];
  if (!isWritten(value, path, faults)) throw new Error(faults.join('\n'));
  const { go, read, classify, links, model } = value;
  const { secret, ...sent } = go;
  const { results, answer, ...others } = read;
  return {
    go: {
      method: 'GET',
      headers: {},
      applies: [],
      ...sent,
      ...(secret === undefined ? {} : { secret: { prefix: '', ...secret } }),
    },
    read: {
      ...others,
      ...(results === undefined ? {} : { results: { format: 'text', ...results } }),
      ...(answer === undefined ? {} : { answer: { format: 'markdown', ...answer } }),
    },
    classify: classify ?? {},
    ...(links === undefined ? {} : { links }),
    ...(model === undefined ? {} : { model }),
  };
}

function isWritten(value: unknown, path: string, faults: string[]): value is WrittenProfile {
  faults.push(...findFaults(HTTP_PROFILE_RULES.yup, value, path));
  return faults.length === 0;
}
