/** `npm run bench [name …]`: measures, prints and stores; fails where a ratio misses its goal. */
import { parseArgs } from 'node:util';
import { measureExecute } from './execute.js';
import type { MeasureOptions } from './measure.js';
import { printReport, saveReport } from './report.js';
import type { Report } from './report.js';

const benches: Record<string, (options: MeasureOptions) => Promise<Report>> = {
  execute: measureExecute,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '200' },
    'warm-up': { type: 'string', default: '20' },
  },
});
const options = { rounds: Number(values.rounds), warmUpRounds: Number(values['warm-up']) };

for (const name of positionals.length > 0 ? positionals : Object.keys(benches)) {
  const bench = benches[name];
  if (bench === undefined)
    throw new Error(`No bench "${name}". There are: ${Object.keys(benches).join(', ')}.`);
  const report = await bench(options);
  printReport(name, report);
  console.log(`Stored in ${await saveReport(name, report)}`);
  if (report.ratios.some(({ value, goal }) => !(value <= goal))) process.exitCode = 1;
}
