/** Runs a batch over scripted samples: `batch-holder <out> <count>`. Prints `begun`, then `done`; made to be killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ModelError } from '../../src/errors.js';
import { call, playedSolver, samples } from './played-batch.js';
import type { Played } from './played-batch.js';

const [out = '', count = '0'] = process.argv.slice(2);

/** By number: right, wrong, failing or without an answer; always the same, in times that differ. */
const play: Played = async (prompt, response) => {
  const number = Number(/\d+$/.exec(prompt)?.[0] ?? 0);
  await sleep(Math.random() * 8);
  if (response === 0) return [call(`print(${number})`)];
  if (number % 11 === 0) throw new ModelError('INVALID_REQUEST', 'No such input.');
  if (number % 7 === 0) return [{ text: 'n0' }];
  return number % 13 === 0 ? [call('again')] : [{ text: `n${number}` }];
};

await using solver = await playedSolver(play, { maxSteps: 2 });
await solver.batch(samples(Number(count)), {
  out,
  concurrency: 8,
  onEvent: ({ type }) => {
    if (type === 'batch-start') process.stdout.write('begun\n');
  },
});
process.stdout.write('done\n');
