import { leaseRun } from '../test/support/lease-run.js';

const LEASES = 1_000;
const REPORT_EVERY = 100;
/** What a collected heap may still wander by. */
const NOISE_BYTES_PER_LEASE = 2_000;

/** Whether many leases of few sessions leave nothing behind: no memory, listener, timer, process or folder. */
export async function tryLeases(options: { count?: number }): Promise<boolean> {
  const { count = LEASES } = options;
  const report = await leaseRun({
    leases: count,
    sessions: 4,
    onProgress: (done) => {
      if (done % REPORT_EVERY === 0) console.error(`${done} of ${count} leases`);
    },
  });
  console.log(JSON.stringify(report, undefined, 2));
  const { heapBytesPerLease, listeners, resources, leftovers } = report;
  return (
    heapBytesPerLease <= NOISE_BYTES_PER_LEASE &&
    listeners + resources.length + leftovers.length === 0
  );
}
