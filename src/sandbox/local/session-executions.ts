import { BufferedExecution } from './buffered-execution.js';
import type { ExecutionFollower } from './execution-follower.js';
import type { OutputCaps } from './output-log.js';
import type { Kernel } from './runtime.js';
import { StatusError, toStatusError } from './status.js';

export interface RetentionLimits {
  /** Results per session that wait for their client to come back. */
  results: number;
  /** How long each of them waits, in milliseconds. */
  ms: number;
}

/** A call's hold on an execution; disposing it lets go. */
export interface Attachment extends Disposable {
  readonly execution: BufferedExecution;
  readonly follower: ExecutionFollower;
}

export interface SessionExecutionsOptions {
  /** Create-or-get: a dead kernel is replaced. */
  openKernel: () => Promise<Kernel>;
  outputCaps: OutputCaps;
  retention: RetentionLimits;
}

/**
 * The executions of one session, run one at a time in the order of their calls.
 *
 * With an execution id, a repeated call finds the execution again: while it is queued, while it runs, and after its
 * end until a result has been delivered to some client. Then the id is free, and the same call runs the code anew.
 */
export class SessionExecutions {
  readonly #options: SessionExecutionsOptions;
  readonly #queue: BufferedExecution[] = [];
  readonly #byId = new Map<string, BufferedExecution>();
  /** Results that wait for a client, the oldest first, with their expiry timers. */
  readonly #waiting = new Map<BufferedExecution, NodeJS.Timeout>();
  #current: BufferedExecution | undefined;
  #gate: Promise<unknown> = Promise.resolve();
  #steps = 0;

  constructor(options: SessionExecutionsOptions) {
    this.#options = options;
  }

  /** Nothing is queued, running, waiting for its client or being opened or deleted. */
  get isIdle(): boolean {
    return this.#current === undefined && this.#byId.size === 0 && this.#steps === 0;
  }

  /** Attaches to the execution of that id, or to a new one that is queued. */
  attach(code: string, id: string): Attachment {
    const execution = this.#find(code, id) ?? this.#enqueue(code, id);
    const follower = execution.follow();
    if (this.#current === undefined) void this.#drain();
    return {
      execution,
      follower,
      [Symbol.dispose]() {
        follower[Symbol.dispose]();
      },
    };
  }

  /** A queued script never runs; a running one is interrupted. */
  cancel(execution: BufferedExecution): void {
    if (execution.hasStarted) execution.interrupt();
    else this.#end(execution, new StatusError('CANCELLED', 'Cancelled before the code ran.'));
  }

  /** Some client has the result: the id is free again. */
  delivered(execution: BufferedExecution): void {
    if (execution.hasEnded) this.#forget(execution);
  }

  /** Ends every execution with the error; what the kernel still says about them is ignored. */
  abort(error: StatusError): void {
    for (const execution of [this.#current, ...this.#queue])
      if (execution !== undefined) this.#end(execution, error);
  }

  /** Opens or deletes the session; such steps and the start of executions never overlap. */
  exclusively<T>(step: () => Promise<T>): Promise<T> {
    this.#steps += 1;
    const result = this.#gate.then(step).finally(() => (this.#steps -= 1));
    this.#gate = result.catch(() => undefined);
    return result;
  }

  #find(code: string, id: string): BufferedExecution | undefined {
    const known = id === '' ? undefined : this.#byId.get(id);
    if (known !== undefined && known.code !== code)
      throw new StatusError(
        'INVALID_ARGUMENT',
        `executionId ${id} belongs to an execution of other code in this session: use a new UUID for each script.`,
      );
    return known;
  }

  #enqueue(code: string, id: string): BufferedExecution {
    const execution = new BufferedExecution({ code, id, outputCaps: this.#options.outputCaps });
    if (id !== '') this.#byId.set(id, execution);
    this.#queue.push(execution);
    return execution;
  }

  async #drain(): Promise<void> {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#current = next;
      await this.#run(next);
    }
    this.#current = undefined;
  }

  async #run(execution: BufferedExecution): Promise<void> {
    // Nobody could ever learn what such a script did, and a client that calls again expects that it has not run.
    const isAbandoned = execution.id === '' && !execution.isFollowed;
    if (execution.hasEnded || isAbandoned) return;
    try {
      const kernel = await this.exclusively(this.#options.openKernel);
      await execution.run(kernel);
    } catch (error) {
      execution.end({ error: toStatusError(error) });
    }
    this.#keep(execution);
  }

  #end(execution: BufferedExecution, error: StatusError): void {
    execution.end({ error });
    this.#keep(execution);
  }

  /** Until it is delivered, the result waits for its client, within the limits. */
  #keep(execution: BufferedExecution): void {
    const isHeld = this.#byId.get(execution.id) === execution;
    if (!isHeld || this.#waiting.has(execution)) return;
    const expiry = setTimeout(() => {
      this.#forget(execution);
    }, this.#options.retention.ms);
    this.#waiting.set(execution, expiry.unref());
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined && this.#waiting.size > this.#options.retention.results)
      this.#forget(oldest);
  }

  #forget(execution: BufferedExecution): void {
    clearTimeout(this.#waiting.get(execution));
    this.#waiting.delete(execution);
    if (this.#byId.get(execution.id) === execution) this.#byId.delete(execution.id);
  }
}
