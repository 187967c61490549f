export * from './envelope.ts';
export * from './errors.ts';
export * from './ids.ts';
export * from './regions.ts';
export * from './states.ts';
export * from './surfaces.ts';
export * from './version.ts';
export * from './schemas/index.ts';
