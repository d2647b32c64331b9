import { faultRun } from '../test/support/fault-run.js';

const EXECUTIONS = 2_000;
const REPORT_EVERY = 100;

/** Whether many scripts under faults on a third of all calls each took effect once, or owned up. */
export async function tryFaults(options: { count?: number; seed?: number }): Promise<boolean> {
  const { count = EXECUTIONS, seed = 1 } = options;
  const report = await faultRun({
    executions: count,
    seed,
    sessions: 4,
    share: 1 / 3,
    onProgress: (done) => {
      if (done % REPORT_EVERY === 0) console.error(`${done} of ${count} scripts`);
    },
  });
  console.log(JSON.stringify(report, undefined, 2));
  return report.violations.length + report.leftovers.length === 0;
}
