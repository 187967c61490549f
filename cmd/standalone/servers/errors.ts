/**
 * Whether the system refused with this code, such as `ENOENT`. Not by `instanceof Error`: the errors of Node's own
 * modules are of another realm when a test runner has ours.
 */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
