import { expect, it } from 'vitest';
import { faultRun } from '../support/fault-run.js';
import { leaseRun } from '../support/lease-run.js';

it('under faults on a third of all calls each script takes effect once, or owns up', async () => {
  const report = await faultRun({ executions: 150, seed: 7, sessions: 4, share: 1 / 3 });
  expect(report.violations).toEqual([]);
  expect(report.leftovers).toEqual([]);
  const struck = Object.values(report.faults).reduce((sum, times) => sum + times, 0);
  expect(struck / report.calls).toBeGreaterThan(0.25);
  // Most scripts get through, or the run would have shown nothing.
  expect(report.endings['ok']).toBeGreaterThan(75);
}, 600_000);

it('many leases leave no listener, timer, process or folder behind', async () => {
  const report = await leaseRun({ leases: 200, sessions: 4 });
  expect(report).toMatchObject({ leases: 200, listeners: 0, resources: [], leftovers: [] });
}, 300_000);
