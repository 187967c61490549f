export { openArtifactStore } from './open.ts';
export type { ArtifactStore } from './store.ts';
export { readArtifact, readPicture } from './read.ts';
