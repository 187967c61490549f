/** What a key may be scoped to; a key without a list has them all (design, "Scopes"). */
export const SCOPES = [
  'search:write',
  'jobs:read',
  'jobs:write',
  'artifacts:read',
  'usage:read',
  'watches:read',
  'watches:write',
  'webhooks:read',
] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(value: string): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
