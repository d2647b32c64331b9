import { crashRun } from '../test/support/crash-run.js';

const KILLS = 200;
const SAMPLES = 300;
const REPORT_EVERY = 20;

/** Whether batches that are killed at random moments come to the same as one that nobody disturbed. */
export async function tryCrashes(options: { count?: number; seed?: number }): Promise<boolean> {
  const { count = KILLS, seed } = options;
  const report = await crashRun({
    samples: SAMPLES,
    kills: count,
    seed,
    onProgress: (kills) => {
      if (kills % REPORT_EVERY === 0) console.error(`${kills} of ${count} kills`);
    },
  });
  console.log(JSON.stringify(report, undefined, 2));
  return report.different + report.twice + report.lost === 0 && report.midway > report.kills / 2;
}
