import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readResults, readTranscript } from '../../src/batch/journal-reading.js';

export interface CrashRunOptions {
  samples: number;
  /** Processes that are killed; a batch is killed one to three times before it may end. */
  kills: number;
  /** Of the moments; default by chance. */
  seed?: number | undefined;
  onProgress?: (kills: number) => void;
}

export interface CrashRunReport {
  samples: number;
  batches: number;
  kills: number;
  /** Of the kills, how many found a batch under way: some, but not all results on disk. */
  midway: number;
  /** Batches whose results are not those of an undisturbed one. */
  different: number;
  /** Results that were there twice, and that were missing, over all batches. */
  twice: number;
  lost: number;
}

const HOLDER = fileURLToPath(new URL('batch-holder.ts', import.meta.url));

/** Kills batches at random moments and lets them go on; compares what they come to with one that nobody disturbed. */
export async function crashRun(options: CrashRunOptions): Promise<CrashRunReport> {
  const { samples, kills, seed = Math.random() * 2 ** 31, onProgress } = options;
  const random = randomNumbers(seed);
  const folder = await mkdtemp(join(tmpdir(), 'crash-run-'));
  const report = { samples, batches: 0, kills: 0, midway: 0, different: 0, twice: 0, lost: 0 };
  try {
    const undisturbed = join(folder, 'undisturbed');
    const { beginMs, runMs } = await runToEnd(undisturbed, samples);
    const wanted = await resultsOf(undisturbed);
    while (report.kills < kills) {
      const out = join(folder, `b${report.batches}`);
      const here = Math.min(kills - report.kills, 1 + Math.floor(random() * 3));
      for (let kill = 0; kill < here; kill += 1) {
        // One in eight while it begins: reading, locking, cutting off, writing run.json.
        const isEarly = random() < 0.125;
        const before = await countOf(out);
        await runAndKill(out, samples, isEarly, random() * (isEarly ? beginMs : runMs / here));
        const after = await countOf(out);
        if (after > before && after < samples) report.midway += 1;
        report.kills += 1;
        onProgress?.(report.kills);
      }
      await runToEnd(out, samples);
      const found = await resultsOf(out);
      report.batches += 1;
      report.twice += found.twice;
      report.lost += [...wanted.results.keys()].filter((id) => !found.results.has(id)).length;
      if (JSON.stringify([...found.results]) !== JSON.stringify([...wanted.results]))
        report.different += 1;
      await rm(out, { recursive: true });
    }
    return report;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function start(out: string, samples: number) {
  const args = ['--import', 'tsx', HOLDER, out, String(samples)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  const begun = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (printed.includes('begun')) resolve();
    });
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, printed }));
  return { child, begun, ended };
}

async function runToEnd(out: string, samples: number): Promise<{ beginMs: number; runMs: number }> {
  const startedAt = performance.now();
  const { begun, ended } = start(out, samples);
  await Promise.race([begun, ended]);
  const begunAt = performance.now();
  const { code, printed } = await ended;
  if (code !== 0 || !printed.endsWith('done\n'))
    throw new Error(`A batch in ${out} ended with ${String(code)}: ${printed}`);
  return { beginMs: begunAt - startedAt, runMs: performance.now() - begunAt };
}

async function runAndKill(
  out: string,
  samples: number,
  isEarly: boolean,
  afterMs: number,
): Promise<void> {
  const { child, begun, ended } = start(out, samples);
  if (!isEarly) await Promise.race([begun, ended]);
  await Promise.race([sleep(afterMs), ended]);
  child.kill('SIGKILL');
  await ended;
}

async function countOf(out: string): Promise<number> {
  const results = readResults(out);
  for (let count = 0; ; count += 1) {
    if ((await results.next()).done === true) return count;
  }
}

/** By sample, with its transcript; without times, and without ids, which no two runs share. */
async function resultsOf(out: string) {
  const all = new Map<string, unknown>();
  let twice = 0;
  for await (const record of readResults(out)) {
    const {
      durationMs: _,
      modelMs: _m,
      sandboxMs: _s,
      finishedAt: _f,
      transcript: _t,
      ...rest
    } = record;
    const { contents } = await readTranscript(out, record);
    if (all.has(record.id)) twice += 1;
    all.set(record.id, { ...rest, checksum: 0, contents: withoutIds(contents) });
  }
  const results = new Map([...all].sort(([a], [b]) => a.localeCompare(b)));
  return { results, twice };
}

function withoutIds(contents: unknown): unknown {
  return JSON.parse(
    JSON.stringify(contents, (name, value: unknown) => (name === 'id' ? undefined : value)),
  );
}

function randomNumbers(seed: number): () => number {
  let state = Math.floor(seed) % 2_147_483_647 || 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
