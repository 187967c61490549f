const transform = {
  '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'es6' } }],
};
const common = {
  extensionsToTreatAsEsm: ['.ts'],
  transform,
  testEnvironment: 'node',
  setupFiles: ['<rootDir>/test/support/property-seed.mjs'],
};

export default {
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/{cmd,pkg,test/chart}/**/*.test.ts'] },
    {
      ...common,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/{integration,faults}/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/start-servers.ts',
      globalTeardown: '<rootDir>/test/support/stop-servers.ts',
    },
    {
      ...common,
      displayName: 'operator',
      testMatch: ['<rootDir>/test/operator/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/kube/start-kube.ts',
      globalTeardown: '<rootDir>/test/support/kube/stop-kube.ts',
    },
  ],
  // Every test file that starts a browser or a database holds them for its own time; more workers than
  // cores only makes each of them miss its deadlines.
  maxWorkers: 2,
  testTimeout: 60_000,
};
