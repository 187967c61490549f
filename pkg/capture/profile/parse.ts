import { findFaults } from './faults.ts';
import type { Profile } from './profile.ts';
import { PROFILE_RULES } from './rules.ts';
import type { JsonSchema } from './schema.ts';

/**
 * A profile from a document. Throws one error that lists every fault as `path: message`; `path` is where the profile
 * stands in its document, for example `spec.profile`.
 */
export function parseProfile(value: unknown, path: string): Profile {
  const faults: string[] = [];
  if (isProfile(value, path, faults)) return value;
  throw new Error(faults.join('\n'));
}

function isProfile(value: unknown, path: string, faults: string[]): value is Profile {
  faults.push(...findFaults(PROFILE_RULES.yup, value, path));
  return faults.length === 0;
}

/** The profile as JSON Schema. It says all that a schema can say: the syntax of selectors is the parser's alone. */
export function profileJsonSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'spec.profile of a CaptureLane',
    description: 'Explained in docs/lanes.md. Written by `scs lane schema`, from the rules that the service parses by.',
    ...PROFILE_RULES.json,
  };
}
