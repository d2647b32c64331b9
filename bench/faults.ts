/** `npm run bench faults`: runs scripts under faults and counts; fails where one was run twice or anything was lost. */
import { parseArgs } from 'node:util';
import { faultRun } from '../test/support/fault-run.js';

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    executions: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
  },
});

const REPORT_EVERY = 100;

const report = await faultRun({
  executions: Number(values.executions),
  seed: Number(values.seed),
  sessions: 4,
  share: 1 / 3,
  onProgress: (done) => {
    if (done % REPORT_EVERY === 0) console.error(`${done} of ${values.executions}`);
  },
});
console.log(JSON.stringify(report, undefined, 2));
if (report.violations.length + report.leftovers.length > 0) process.exitCode = 1;
