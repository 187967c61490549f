export { createApp } from './app.ts';
export type { ApiDeps } from './context.ts';
