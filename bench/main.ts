/** `npm run bench [name …]`: measures, prints and stores; fails where a ratio misses its goal. */
import { parseArgs } from 'node:util';
import { measureDisplays } from './displays.js';
import { tryBatch } from './batch.js';
import { tryCrashes } from './crashes.js';
import { measureExecute } from './execute.js';
import { tryFaults } from './faults.js';
import { measureLease } from './lease.js';
import { tryLeases } from './leases.js';
import type { MeasureOptions } from './measure.js';
import { tryTyping } from './typing.js';
import { printReport, saveReport } from './report.js';
import type { Report } from './report.js';

interface Bench {
  measure: (options: MeasureOptions) => Promise<Report>;
  rounds: number;
  warmUpRounds: number;
}

const benches: Record<string, Bench> = {
  execute: { measure: measureExecute, rounds: 200, warmUpRounds: 20 },
  displays: { measure: measureDisplays, rounds: 500, warmUpRounds: 50 },
  lease: { measure: measureLease, rounds: 15, warmUpRounds: 2 },
};

/** Compare nothing, so they run only when named; true where all is as it has to be. */
const trials: Record<string, (options: { count?: number; seed?: number }) => Promise<boolean>> = {
  batch: tryBatch,
  crashes: tryCrashes,
  faults: tryFaults,
  leases: tryLeases,
  typing: tryTyping,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    'warm-up': { type: 'string' },
    count: { type: 'string' },
    seed: { type: 'string' },
  },
});

for (const name of positionals.length > 0 ? positionals : Object.keys(benches)) {
  const trial = trials[name];
  if (trial !== undefined) {
    const count = values.count === undefined ? {} : { count: Number(values.count) };
    const seed = values.seed === undefined ? {} : { seed: Number(values.seed) };
    if (!(await trial({ ...count, ...seed }))) process.exitCode = 1;
    continue;
  }
  const bench = benches[name];
  if (bench === undefined) {
    const names = [...Object.keys(benches), ...Object.keys(trials)].join(', ');
    throw new Error(`No bench "${name}". There are: ${names}.`);
  }
  const report = await bench.measure({
    rounds: Number(values.rounds ?? bench.rounds),
    warmUpRounds: Number(values['warm-up'] ?? bench.warmUpRounds),
  });
  printReport(name, report);
  console.log(`Stored in ${await saveReport(name, report)}`);
  if (report.ratios.some(({ value, goal }) => !(value <= goal))) process.exitCode = 1;
}
