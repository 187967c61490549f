export { createWatchController, type WatchControllerDeps } from './controller.ts';
