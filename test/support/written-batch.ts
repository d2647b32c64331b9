import { Journal } from '../../src/batch/journal.js';
import type { UnplacedRecord } from '../../src/batch/journal.js';
import { writeManifest } from '../../src/batch/run-manifest.js';
import { recordedRunLine } from '../../src/agent/recorded-run.js';
import type { Part } from '../../src/parts/part.js';
import { emptyUsage } from '../../src/parts/usage.js';

export interface WrittenSample extends Partial<UnplacedRecord> {
  id: string;
  prompt?: string;
  parts?: Part[];
}

/** A batch folder as a batch would have left it, without one. */
export async function writeBatch(
  folder: string,
  samples: Iterable<WrittenSample> | AsyncIterable<WrittenSample>,
  { dataset = 'questions.jsonl', model = 'gemini-test', total = 0 } = {},
): Promise<void> {
  const versions = { 'colab-solver': '0.1.0', node: '20.19.0' };
  await writeManifest(folder, {
    ...{ format: 1, createdAt: '2026-03-01T10:00:00.000Z', versions },
    ...{ dataset, total, model, seed: null, asked: { sandbox: 'local' } },
  });
  await using journal = await Journal.open(folder);
  for await (const { prompt = 'q', parts = [], ...record } of samples) {
    const contents = [
      { role: 'user' as const, parts: [{ text: prompt }] },
      { role: 'model' as const, parts },
    ];
    await journal.append(
      { ...plainRecord, ...record },
      recordedRunLine({ id: record.id, prompt, contents }),
    );
  }
}

const plainRecord: Omit<UnplacedRecord, 'id'> = {
  epoch: 1,
  status: 'answered',
  answer: '1',
  target: '1',
  correct: true,
  explanation: 'equal',
  grader: 'exact',
  steps: 2,
  executions: 1,
  outcomes: { ok: 1, failed: 0, deadlineExceeded: 0 },
  usage: { ...emptyUsage(), totalTokenCount: 100, requests: 2 },
  retries: { requests: 0, runs: 0 },
  durationMs: 1500,
  modelMs: 1000,
  sandboxMs: 400,
  metadata: {},
  finishedAt: '2026-03-01T10:00:00.000Z',
};
