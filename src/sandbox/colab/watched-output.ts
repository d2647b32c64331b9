import type { OutputChunk } from '../execution.js';
import type { FollowedChunk } from './output-follower.js';
import { OutputFollower } from './output-follower.js';
import { ReportFilter } from './session-watch.js';
import type { WatchReport } from './session-watch.js';
import type { ExecuteCodeResult } from './tool-results.js';

/** A script's output without the reports of the session's watch, which are kept. */
export class WatchedOutput {
  readonly #token: string;
  readonly #follower: OutputFollower;
  #live: ReportFilter;
  #report: WatchReport | undefined;

  constructor(token: string, onOutput: ((chunk: OutputChunk) => void) | undefined) {
    this.#token = token;
    this.#follower = new OutputFollower(onOutput);
    this.#live = new ReportFilter(token);
  }

  /** What the watch has told last. */
  get report(): WatchReport | undefined {
    return this.#report ?? this.#live.report;
  }

  reattach(): void {
    this.#live = new ReportFilter(this.#token);
    this.#follower.reattach();
  }

  /** Reports come on stderr, which not every server tells from stdout. */
  add(chunk: FollowedChunk): void {
    const text = chunk.stream === 'stdout' ? chunk.text : this.#live.add(chunk.text);
    if (text !== '') this.#follower.add({ ...chunk, text });
  }

  /** The result without reports, after showing what was not shown yet. */
  finish(result: ExecuteCodeResult): ExecuteCodeResult {
    const filter = new ReportFilter(this.#token);
    const stderr = filter.add(result.stderr) + filter.rest();
    this.#report = filter.report;
    const clean = { ...result, stderr };
    this.#follower.finish(clean);
    return clean;
  }

  throwIfListenerFailed(): void {
    this.#follower.throwIfListenerFailed();
  }

  /** The end of what was printed. */
  partial(): { stdout: string; stderr: string; outputTruncated: boolean } {
    return this.#follower.partial();
  }
}
