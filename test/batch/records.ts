import type { Content } from '../../src/parts/content.js';
import type { UnplacedRecord } from '../../src/batch/journal.js';
import { recordedRunLine } from '../../src/agent/recorded-run.js';
import { emptyUsage } from '../../src/parts/usage.js';

/** A record as a run would leave it. */
export function recordOf(id: string, rest: Partial<UnplacedRecord> = {}): UnplacedRecord {
  return {
    id,
    epoch: 1,
    status: 'answered',
    answer: '4',
    target: '4',
    correct: true,
    explanation: 'Equal.',
    grader: 'exact',
    steps: 2,
    executions: 1,
    outcomes: { ok: 1, failed: 0, deadlineExceeded: 0 },
    usage: emptyUsage(),
    retries: { requests: 0, runs: 0 },
    durationMs: 12,
    modelMs: 8,
    sandboxMs: 4,
    metadata: {},
    finishedAt: '2026-01-01T00:00:00.000Z',
    ...rest,
  };
}

/** A transcript to go with it. */
export function transcriptOf(id: string): string {
  const contents: Content[] = [
    { role: 'user', parts: [{ text: `“${id}”?` }] },
    { role: 'model', parts: [{ text: '4' }] },
  ];
  return recordedRunLine({ id, prompt: `“${id}”?`, target: '4', contents });
}
