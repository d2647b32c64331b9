import type { SampleRecord } from '../sample-record.js';
import { countRecord, emptyTally } from '../tally.js';
import { Distribution } from './distribution.js';
import { Groups } from './groups.js';

/** What a report says in numbers. Of each record a few numbers are kept, never a text. */
export class Figures {
  readonly tally = emptyTally();
  readonly groups = new Groups();
  readonly statuses = new Map<string, number>();
  readonly outcomes = { ok: 0, failed: 0, deadlineExceeded: 0 };
  readonly steps = new Distribution();
  readonly seconds = new Distribution();
  readonly modelSeconds = new Distribution();
  readonly sandboxSeconds = new Distribution();
  readonly tokens = new Distribution();
  firstFinishedAt: string | undefined;
  lastFinishedAt: string | undefined;

  add(record: SampleRecord): void {
    countRecord(this.tally, record);
    this.groups.add(record);
    this.statuses.set(record.status, (this.statuses.get(record.status) ?? 0) + 1);
    this.outcomes.ok += record.outcomes.ok;
    this.outcomes.failed += record.outcomes.failed;
    this.outcomes.deadlineExceeded += record.outcomes.deadlineExceeded;
    this.steps.add(record.steps);
    this.seconds.add(record.durationMs / 1000);
    this.modelSeconds.add(record.modelMs / 1000);
    this.sandboxSeconds.add(record.sandboxMs / 1000);
    this.tokens.add(record.usage.totalTokenCount);
    this.firstFinishedAt ??= record.finishedAt;
    this.lastFinishedAt = record.finishedAt;
  }
}
