import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SAMPLES = 20_000;
const CONCURRENCY = 24;
const MAX_RESIDENT_MB = 250;
/** Of the best possible schedule: all latencies spread evenly over all places, none ever idle. */
const MAX_WALL_SHARE = 1.05;

interface Load {
  count: number;
  finished: number;
  correct: number;
  wallMs: number;
  bestMs: number;
  /** At most, in millions of bytes. */
  residentMb: number;
}

/** Whether a large batch keeps its places busy and its memory small. */
export async function tryBatch(options: { count?: number }): Promise<boolean> {
  const { count = SAMPLES } = options;
  const program = fileURLToPath(new URL('batch-load.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--import', 'tsx', program],
    ...[String(count), String(CONCURRENCY)],
  ]);
  const load = JSON.parse(stdout) as Load;
  const wallShare = load.wallMs / load.bestMs;
  console.log(JSON.stringify({ ...load, wallShare }, undefined, 2));
  return (
    load.finished === count &&
    load.correct === count &&
    load.residentMb <= MAX_RESIDENT_MB &&
    wallShare <= MAX_WALL_SHARE
  );
}
