import type { KubeServer } from './server.ts';

/** Jest calls set-up and tear-down as two functions of two files: this is what they share. */
export const running: KubeServer[] = [];
