// Usage: summarize.mjs RESULTS STATUS, where RESULTS is what `jest --json` wrote and STATUS how the run ended.
import { readFileSync } from 'node:fs';

const [file, status] = process.argv.slice(2);
let passed = 0;
let failed = 0;
try {
  const results = JSON.parse(readFileSync(file, 'utf8'));
  passed = results.numPassedTests;
  // A file that could not even be loaded has no tests to count, but it has not passed.
  failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
} catch (error) {
  console.error(`There are no test results: ${error.message}`);
}
if (status !== '0' && failed === 0) failed = 1;
if (passed === 0 && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
