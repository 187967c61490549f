import projects from './jest.config.mjs';

const [{ transform, extensionsToTreatAsEsm, testEnvironment }] = projects.projects;

// Apart from `make test`: it needs a cluster, which it fills and empties.
export default {
  extensionsToTreatAsEsm,
  transform,
  testEnvironment,
  testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
  testTimeout: 240_000,
};
