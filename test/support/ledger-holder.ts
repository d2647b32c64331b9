/**
 * Writes to a ledger as a process of its own until it is killed: notes an entry, notes it anew, and takes every second one out.
 * Prints a line for each round.
 */
import { Ledger } from '../../src/sandbox/ledger.js';

const [folder = '', url = ''] = process.argv.slice(2);
const ledger = new Ledger({ folder });
for (let round = 0; ; round += 1) {
  const name = `runtimes/r1/sessions/cs-${crypto.randomUUID()}`;
  const entry = { kind: 'session', url, name, holder: 'x'.repeat(2_000) } as const;
  await ledger.note(entry);
  await ledger.note(entry);
  if (round % 2 === 1) await ledger.forget(entry);
  process.stdout.write(`${round}\n`);
}
