export { openArtifactStore } from './open.ts';
export type { ArtifactStore } from './store.ts';
export { readArtifact } from './read.ts';
