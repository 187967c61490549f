// Usage: summarize.mjs RESULTS STATUS [RESULTS STATUS…], where RESULTS is what `jest --json` wrote and STATUS how the
// run ended.
import { readFileSync } from 'node:fs';

let passed = 0;
let failed = 0;
const words = process.argv.slice(2);
for (let index = 0; index < words.length; index += 2) {
  const counted = count(words[index]);
  passed += counted.passed;
  // A run that ended badly has not passed, whatever its tests say.
  failed += counted.failed === 0 && (words[index + 1] !== '0' || counted.passed === 0) ? 1 : counted.failed;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

function count(file) {
  try {
    const results = JSON.parse(readFileSync(file, 'utf8'));
    // A file that could not even be loaded has no tests to count, but it has not passed.
    return { passed: results.numPassedTests, failed: results.numFailedTests + results.numRuntimeErrorTestSuites };
  } catch (error) {
    console.error(`There are no test results: ${error.message}`);
    return { passed: 0, failed: 0 };
  }
}
