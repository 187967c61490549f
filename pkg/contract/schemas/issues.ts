import { ServiceError, type FieldIssue } from '../errors.ts';

/** What is wrong with one field. `message` is a whole sentence that starts with the path. */
export type Issue = FieldIssue & {
  /** Set for an unknown field: what its object may hold. */
  allowed?: string;
};

const MAX_DETAILS = 100;
const MAX_SENTENCES = 5;

/**
 * `VALIDATION_FAILED` whose message names every unknown field and the first other faults; `details` has one element
 * per fault (spec 2.2, 7).
 */
export function refuse(issues: readonly Issue[]): ServiceError {
  const sentences = [
    ...nameUnknown(issues),
    ...issues.filter(({ allowed }) => allowed === undefined).map(({ message }) => message),
  ];
  const others = sentences.length - MAX_SENTENCES;
  const message =
    sentences.slice(0, MAX_SENTENCES).join('; ') + (others > 0 ? ` (and ${others} more, see details)` : '');
  const details = issues.slice(0, MAX_DETAILS).map(({ path, message: what }) => ({ path, message: what }));
  return new ServiceError('VALIDATION_FAILED', message, { details });
}

/** One sentence for all unknown fields of one object, so that a long body does not drown their names. */
function nameUnknown(issues: readonly Issue[]): string[] {
  const byAllowed = new Map<string, string[]>();
  for (const { path, allowed } of issues) {
    if (allowed !== undefined) byAllowed.set(allowed, [...(byAllowed.get(allowed) ?? []), path]);
  }
  return [...byAllowed].map(
    ([allowed, paths]) => `${paths.join(', ')} ${paths.length > 1 ? 'are' : 'is'} unknown; allowed: ${allowed}`,
  );
}
