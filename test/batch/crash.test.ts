import { expect, it } from 'vitest';
import { crashRun } from '../support/crash-run.js';

it('a batch that is killed again and again comes to the same as one that nobody disturbed', async () => {
  const report = await crashRun({ samples: 100, kills: 4 });
  expect(report).toMatchObject({ kills: 4, different: 0, twice: 0, lost: 0 });
}, 120_000);
