// Prints `N passed, N failed` from Vitest's JSON report and the names of failed steps; exits 1 unless all is well.
import { existsSync, readFileSync } from 'node:fs';

const [reportPath, ...failedSteps] = process.argv.slice(2);
const report = existsSync(reportPath) ? JSON.parse(readFileSync(reportPath, 'utf8')) : {};
const passed = report.numPassedTests ?? 0;
// A file that could not be loaded has no tests of its own.
const unloadable = (report.testResults ?? []).filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
).length;
const failedTests = (report.numFailedTests ?? 0) + unloadable;
const failed =
  failedTests + failedSteps.filter((step) => step !== 'tests' || failedTests === 0).length;

if (passed + failed === 0) console.log('No test has run.');
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
