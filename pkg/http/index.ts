export { createApp } from './app.ts';
export type { ApiDeps } from './context.ts';
export { createRateGate } from './rate-gate.ts';
export { answerUnreadRequests } from './unread-requests.ts';
