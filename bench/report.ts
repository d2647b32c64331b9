import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Contender, Spread } from './measure.js';

export interface Report {
  spreads: ReadonlyMap<string, Spread>;
  ratios: readonly Ratio[];
}

/** Of two medians of one run; times of different runs or machines are not to be compared. */
export interface Ratio {
  of: string;
  to: string;
  value: number;
  /** The most it should be. */
  goal: number;
}

export function ratio(
  spreads: ReadonlyMap<string, Spread>,
  of: Pick<Contender, 'name'>,
  to: Pick<Contender, 'name'>,
  { goal }: { goal: number },
): Ratio {
  const median = ({ name }: Pick<Contender, 'name'>): number =>
    spreads.get(name)?.medianMs ?? Number.NaN;
  return { of: of.name, to: to.name, value: median(of) / median(to), goal };
}

export function printReport(name: string, report: Report): void {
  const figure = (ms: number): string => ms.toFixed(1).padStart(8);
  console.log(`\n${name}: milliseconds`.padEnd(31), '  median     p10     p90');
  for (const [contender, { medianMs, p10Ms, p90Ms }] of report.spreads)
    console.log(contender.padEnd(30), figure(medianMs) + figure(p10Ms) + figure(p90Ms));
  const [load = 0] = loadavg();
  if (load > 1.5 * cpus().length)
    console.log(
      `The machine is busy (load ${load.toFixed(1)}), which is hardest on long ways: repeat it in peace.`,
    );
  for (const { of, to, value, goal } of report.ratios)
    console.log(`${of} / ${to}: ${value.toFixed(2)} (at most ${goal})`);
}

/** One JSON file a run in bench/results/, which is not tracked. */
export async function saveReport(name: string, report: Report): Promise<string> {
  const folder = fileURLToPath(new URL('results/', import.meta.url));
  await mkdir(folder, { recursive: true });
  const path = `${folder}${name}-${new Date().toISOString().replaceAll(':', '-')}.json`;
  const machine = {
    node: process.version,
    system: `${type()} ${release()}`,
    processor: cpus()[0]?.model ?? 'unknown',
    processors: cpus().length,
    load: loadavg()[0],
  };
  const spreads = Object.fromEntries(report.spreads);
  await writeFile(
    path,
    `${JSON.stringify({ machine, spreads, ratios: report.ratios }, null, 2)}\n`,
  );
  return path;
}
