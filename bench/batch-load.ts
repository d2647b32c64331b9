/** Runs a batch of scripted samples with simulated latencies: `batch-load <count> <concurrency>`; prints one JSON object. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, playedSolver } from '../test/support/played-batch.js';
import { ScriptedSandbox } from '../test/support/scripted-sandbox.js';

const [count = 0, concurrency = 1] = process.argv.slice(2).map(Number);
const MEAN_MS = 150;

/** Exponential, so with a long tail; the same for a sample in every run. */
function latencyMs(number: number): number {
  const even = ((Math.imul(number, 2_654_435_761) >>> 0) + 0.5) / 2 ** 32;
  return Math.min(20 * MEAN_MS, -Math.log(even) * MEAN_MS);
}

const numberOf = (text: string): number => Number(/\d+/.exec(text)?.[0]);
const folder = await mkdtemp(join(tmpdir(), 'batch-load-'));
const dataset = join(folder, 'data.jsonl');
const line = (number: number): string =>
  JSON.stringify({
    id: `s${number}`,
    prompt: `Question ${number}: ${'what is it? '.repeat(20)}`,
    target: `answer ${number}`,
  });
await writeFile(dataset, Array.from({ length: count }, (_, index) => line(index)).join('\n'));
let resting = 0;
const timer = setInterval(() => {
  resting = Math.max(resting, process.memoryUsage.rss());
}, 200);
try {
  const sandbox = new ScriptedSandbox(async (code) => {
    await sleep(latencyMs(numberOf(code)) * 0.3);
    return { value: 'x'.repeat(400) };
  });
  await using solver = await playedSolver(
    async (prompt, response) => {
      const number = numberOf(prompt);
      await sleep(latencyMs(number) * (response === 0 ? 0.4 : 0.3));
      return response === 0 ? [call(`print(${number})`)] : [{ text: `answer ${number}` }];
    },
    { sandbox, maxSessions: concurrency },
  );
  const startedAt = performance.now();
  const summary = await solver.batch(dataset, { out: join(folder, 'out') });
  const wallMs = performance.now() - startedAt;
  const latencies = Array.from({ length: count }, (_, index) => latencyMs(index));
  const sumMs = latencies.reduce((sum, ms) => sum + ms, 0);
  const bestMs = Math.max(sumMs / concurrency, longest(latencies));
  const residentMb = Math.max(resting, process.resourceUsage().maxRSS * 1024) / 1e6;
  const { correct, finished } = summary;
  console.log(
    JSON.stringify({ count, concurrency, finished, correct, wallMs, bestMs, residentMb }),
  );
} finally {
  clearInterval(timer);
  await rm(folder, { recursive: true, force: true });
}

function longest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
