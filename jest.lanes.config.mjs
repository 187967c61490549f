import projects from './jest.config.mjs';

const [{ transform, extensionsToTreatAsEsm, testEnvironment }] = projects.projects;

// Apart from `make test`: it brings 1 GB from PyPI.
export default {
  extensionsToTreatAsEsm,
  transform,
  testEnvironment,
  testMatch: ['<rootDir>/test/lanes/**/*.test.ts'],
  maxWorkers: 1,
  testTimeout: 60_000,
};
