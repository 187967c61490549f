export { findPlan, insertAccount, type NewAccount } from './accounts.ts';
export { createKey, findCaller, listRevokedKeys, revokeKey, type Caller, type KeyMode } from './keys.ts';
export { loadPlans, type Plan, type Plans } from './plans.ts';
export { isScope, SCOPES, type Scope } from './scopes.ts';
