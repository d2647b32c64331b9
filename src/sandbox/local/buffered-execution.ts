import { SandboxError } from '../../errors.js';
import type { OutputChunk } from '../execution.js';
import { ExecutionFollower } from './execution-follower.js';
import { type OutputCaps, OutputLog } from './output-log.js';
import type { Kernel, KernelReply } from './runtime.js';
import { StatusError, toStatusError } from './status.js';

/** How an execution ended: the kernel answered, or the execution was cancelled, aborted or lost. */
export type ExecutionOutcome = { reply: KernelReply } | { error: StatusError };

/**
 * One script and what became of it: queued → running → ended, or queued → ended.
 * Calls follow it; it does not end when they leave.
 */
export class BufferedExecution {
  readonly code: string;
  /** Empty where the client gave none; such an execution cannot be found again. */
  readonly id: string;
  readonly output: OutputLog;
  readonly #followers = new Set<ExecutionFollower>();
  #kernel: Kernel | undefined;
  #outcome: ExecutionOutcome | undefined;
  #interrupt: Promise<void> | undefined;

  constructor(options: { code: string; id: string; outputCaps: OutputCaps }) {
    this.code = options.code;
    this.id = options.id;
    this.output = new OutputLog(options.outputCaps);
  }

  get hasStarted(): boolean {
    return this.#kernel !== undefined;
  }

  get hasEnded(): boolean {
    return this.#outcome !== undefined;
  }

  /** @throws {StatusError} where the execution has not ended with a reply of the kernel. */
  get reply(): KernelReply {
    if (this.#outcome === undefined) throw new Error('The execution has not ended.');
    if ('error' in this.#outcome) throw this.#outcome.error;
    return this.#outcome.reply;
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  follow(): ExecutionFollower {
    const follower = new ExecutionFollower(this, () => this.#followers.delete(follower));
    this.#followers.add(follower);
    return follower;
  }

  async endsWithin(timeoutMs: number): Promise<boolean> {
    using follower = this.follow();
    return await follower.endsWithin(timeoutMs);
  }

  /** Runs the script unless it was cancelled; settles when the kernel is free again. Failure is the outcome, never thrown. */
  async run(kernel: Kernel): Promise<void> {
    if (this.hasEnded) return;
    this.#kernel = kernel;
    try {
      this.end({ reply: await kernel.execute(this.code, (chunk) => this.#append(chunk)) });
    } catch (error) {
      this.end({ error: lostExecution(error) });
    }
    await this.#interrupt;
  }

  /** The first outcome stays. */
  end(outcome: ExecutionOutcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    for (const follower of this.#followers) follower.notify();
  }

  /** Interrupts the script if it is running. The next script waits until that is over, so it is never the one hit. */
  interrupt(): void {
    if (this.hasEnded) return;
    // Where it fails the script runs on, and that is what the caller is told.
    this.#interrupt = this.#kernel?.interrupt().catch(() => undefined);
  }

  /** Holds the kernel back, within a bound, while a follower would lose text. */
  #append(chunk: OutputChunk): Promise<void> | undefined {
    this.output.append(chunk);
    for (const follower of this.#followers) follower.notify();
    const behind = [...this.#followers].filter((follower) => follower.isBehind);
    if (behind.length === 0) return undefined;
    return Promise.all(behind.map((follower) => follower.caughtUp())).then(() => undefined);
  }
}

/** Not a status that invites the client to repeat the call, as UNAVAILABLE does: the script may have run. */
function lostExecution(error: unknown): StatusError {
  if (!(error instanceof SandboxError)) return toStatusError(error);
  return new StatusError('NOT_FOUND', error.message, { reason: 'KERNEL_DIED', cause: error });
}
