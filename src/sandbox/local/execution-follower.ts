import type { OutputChunk } from '../execution.js';
import { type OutputLog, PIECE_LENGTH } from './output-log.js';

/** What a follower watches. */
export interface FollowedExecution {
  readonly output: OutputLog;
  readonly hasEnded: boolean;
}

/** Text that appears within this time of the last piece is gathered, so that 100,000 prints are not 100,000 messages. */
const GATHER_MS = 5;
/** A reader that takes nothing for this long is no longer waited for; it then loses what no longer fits the log. */
const STALL_MS = 10_000;

/**
 * One call attached to an execution. It reads the buffered output at its own pace, from the beginning;
 * a call that attaches late gets a replay without further ado.
 */
export class ExecutionFollower implements Disposable {
  readonly #execution: FollowedExecution;
  readonly #onDispose: (follower: ExecutionFollower) => void;
  #position = 0;
  #isReading = false;
  #hasStalled = false;
  #onChange: (() => void) | undefined;
  #onRead: (() => void) | undefined;

  constructor(execution: FollowedExecution, onDispose: (follower: ExecutionFollower) => void) {
    this.#execution = execution;
    this.#onDispose = onDispose;
  }

  /** The output so far and to come; ends when the execution has, rejects with the signal's reason when it fires. */
  async *output(signal: AbortSignal): AsyncGenerator<OutputChunk, void, void> {
    this.#isReading = true;
    for (;;) {
      for (let chunk = this.#read(); chunk !== undefined; chunk = this.#read()) yield chunk;
      if (this.#execution.hasEnded) return;
      const gathered = performance.now() + GATHER_MS;
      await this.#until(() => this.#unread > 0 || this.#execution.hasEnded, { signal });
      const timeoutMs = gathered - performance.now();
      const isWorthSending = (): boolean =>
        this.#unread >= PIECE_LENGTH || this.#execution.hasEnded;
      if (timeoutMs > 0) await this.#until(isWorthSending, { signal, timeoutMs });
    }
  }

  /** Settles when the execution has ended, or rejects with the signal's reason. */
  async end(signal: AbortSignal): Promise<void> {
    await this.#until(() => this.#execution.hasEnded, { signal });
  }

  async endsWithin(timeoutMs: number): Promise<boolean> {
    await this.#until(() => this.#execution.hasEnded, { timeoutMs });
    return this.#execution.hasEnded;
  }

  /** The execution says that there is more output or that it has ended. */
  notify(): void {
    this.#onChange?.();
  }

  /** True where the log might soon drop what this reader has not read yet. */
  get isBehind(): boolean {
    return (
      this.#isReading && !this.#hasStalled && this.#execution.output.isFarBehind(this.#position)
    );
  }

  /** Settles when the reader is no longer behind, has left or has stalled. */
  caughtUp(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#onRead = undefined;
        resolve();
      };
      const timer = setTimeout(() => {
        this.#hasStalled = true;
        settle();
      }, STALL_MS);
      this.#onRead = () => {
        if (!this.isBehind) settle();
      };
    });
  }

  [Symbol.dispose](): void {
    this.#isReading = false;
    this.#onRead?.();
    this.#onDispose(this);
  }

  get #unread(): number {
    return this.#execution.output.end - this.#position;
  }

  #read(): OutputChunk | undefined {
    const piece = this.#execution.output.read(this.#position);
    this.#position = piece?.next ?? this.#execution.output.end;
    this.#hasStalled &&= this.#unread > 0;
    this.#onRead?.();
    return piece?.chunk;
  }

  /** Settles when the condition holds (asked after each change) or the time is over. */
  #until(
    condition: () => boolean,
    { signal, timeoutMs }: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#onChange = undefined;
      };
      const onAbort = (): void => {
        stop();
        reject(signal?.reason as Error);
      };
      const onTime = (): void => {
        stop();
        resolve();
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(onTime, timeoutMs);
      this.#onChange = () => {
        if (condition()) onTime();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
      else this.#onChange();
    });
  }
}
