export { openArtifactStore } from './open.ts';
export type { ArtifactStore } from './store.ts';
