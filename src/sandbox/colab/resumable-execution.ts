import { sleep } from '../../abort.js';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { delayAfter } from '../../retry.js';
import type { Failure } from '../failure.js';
import { FailedCall } from '../failure.js';
import { executionUnknown, sessionLost, toSandboxError } from '../sandbox-errors.js';
import type { McpConnection, ProgressParams } from './mcp-connection.js';
import type { FollowedChunk } from './output-follower.js';
import type { ExecuteCodeResult } from './tool-results.js';
import { ExecuteCodeResultSchema, SessionListSchema } from './tool-results.js';

export interface ResumableOptions {
  connection: McpConnection;
  /** Resource name of the session. */
  session: string;
  /** UUID by which the server, and the kernel, know a repeated call. */
  executionId: string;
  code: string;
  /** Spacing of repetitions; `attempts` bounds those of a call that did not run. */
  policy: RetryPolicy;
  signal: AbortSignal;
  onOutput?: (chunk: FollowedChunk) => void;
  /** The server replays the output from the start. */
  onReattach?: () => void;
}

/** What a failed call means for the script. */
type Meaning =
  /** It did not run. */
  | 'not-run'
  /** It may be running: the identical call re-attaches. */
  | 'detached'
  /** Its kernel is gone. */
  | 'lost'
  /** The server will not take the call. */
  | 'refused';

/** Failures without a reason we know are re-attached to this often: waiting need not mend them. */
const UNKNOWN_ATTEMPTS = 3;

/**
 * One script, whose answer is fetched by as many identical calls as it takes until `signal` fires.
 * Without an answer it throws, and says whether the script may have run.
 */
export class ResumableExecution {
  readonly #options: ResumableOptions;
  readonly #args: { session: string; executionId: string; code: string };
  #attachments = 0;
  #mayHaveRun = false;
  #isAttached = false;
  #lastError: SandboxError | undefined;

  constructor(options: ResumableOptions) {
    this.#options = options;
    const { session, executionId, code } = options;
    this.#args = { session, executionId, code };
  }

  /** True while the server holds our call, so that an abort reaches the kernel. */
  get isAttached(): boolean {
    return this.#isAttached;
  }

  /** What the latest failed call said. */
  get lastError(): SandboxError | undefined {
    return this.#lastError;
  }

  /** False where no call reached the server, or each was turned away before it ran. */
  get mayHaveRun(): boolean {
    return this.#mayHaveRun;
  }

  async result(): Promise<ExecuteCodeResult> {
    let failures = 0;
    let unknowns = 0;
    for (;;) {
      try {
        return await this.#attach();
      } catch (error) {
        if (!(error instanceof FailedCall)) throw error;
        const { failure } = error;
        // Streams end every ten minutes by themselves; that is no fault to back off from.
        failures = failure.status === 'DEADLINE_EXCEEDED' ? 1 : failures + 1;
        if (isUnexplained(failure)) unknowns += 1;
        await this.#pause(failure, failures, unknowns);
      }
    }
  }

  /** Interrupts the script though no call is attached; whether it worked shows when the kernel is asked. */
  async interrupt(): Promise<void> {
    try {
      await this.#options.connection.cancelTool('execute_code', this.#args);
    } catch (error) {
      if (!(error instanceof FailedCall) && !(error instanceof SandboxError)) throw error;
    }
  }

  async #attach(): Promise<ExecuteCodeResult> {
    const { connection, signal, onOutput, onReattach } = this.#options;
    signal.throwIfAborted();
    if (this.#attachments > 0) onReattach?.();
    this.#attachments += 1;
    const onSend = (): void => {
      this.#isAttached = true;
    };
    const onProgress = (params: ProgressParams): void => {
      this.#mayHaveRun = true;
      if (params.message !== undefined && params.message !== '') onOutput?.(toChunk(params));
    };
    try {
      const options = { signal, onProgress, onSend };
      const payload = await connection.callTool('execute_code', this.#args, options);
      return this.#read(payload);
    } catch (error) {
      if (!signal.aborted) this.#isAttached = false;
      else if (this.#isAttached) this.#mayHaveRun = true;
      throw error;
    }
  }

  #read(payload: unknown): ExecuteCodeResult {
    const parsed = ExecuteCodeResultSchema.safeParse(payload);
    if (parsed.success) return parsed.data;
    throw executionUnknown(
      this.#options.session,
      'the server gave a result of an unknown form.',
      parsed.error,
    );
  }

  /** Waits before the next call, or throws where there is none to be made. */
  async #pause(failure: Failure, failures: number, unknowns: number): Promise<void> {
    const { connection, policy, signal, session } = this.#options;
    const meaning = meaningOf(failure, this.#mayHaveRun);
    if (meaning === 'detached') this.#mayHaveRun = true;
    if (meaning === 'lost') throw sessionLost(session, failure.text, failure.raw);
    const error = this.#asError(failure);
    this.#lastError = error;
    if (meaning === 'refused' || unknowns >= UNKNOWN_ATTEMPTS) throw error;
    const attempts = this.#mayHaveRun ? Infinity : policy.attempts;
    const delayMs =
      failures < attempts
        ? delayAfter(error, Math.min(failures, 32), { ...policy, attempts })
        : undefined;
    if (delayMs === undefined) throw error;
    // Re-attaching is no retry: the script is there, and only its answer is fetched.
    if (!this.#mayHaveRun && !connection.limiter.takeRetry()) throw error;
    await sleep(delayMs, signal);
    if (meaning === 'detached' && failure.status !== 'DEADLINE_EXCEEDED')
      await this.#requireSession();
  }

  /** A call to a session that is gone would open it anew and run the script in an empty kernel. */
  async #requireSession(): Promise<void> {
    const { connection, session, signal } = this.#options;
    const parent = session.replace(/\/sessions\/.*$/, '');
    let listed: unknown;
    try {
      listed = await connection.callTool('list_sessions', { parent }, { signal });
    } catch (error) {
      if (error instanceof FailedCall) return;
      throw error;
    }
    const known = SessionListSchema.safeParse(listed);
    if (!known.success || known.data.sessions.some(({ name }) => name === session)) return;
    throw sessionLost(session, 'the server no longer knows it.');
  }

  #asError(failure: Failure): SandboxError {
    const { connection, session } = this.#options;
    const error = toSandboxError(failure, {
      tool: 'execute_code',
      on: session,
      url: connection.url,
    });
    if (!this.#mayHaveRun) return error;
    return executionUnknown(session, error.message, failure.raw, failure.retryAfterMs);
  }
}

function meaningOf(failure: Failure, mayHaveRun: boolean): Meaning {
  switch (failure.status) {
    case 'RESOURCE_EXHAUSTED':
      return 'not-run';
    case 'NETWORK':
      return failure.neverSent && !mayHaveRun ? 'not-run' : 'detached';
    case 'NOT_FOUND':
      return 'lost';
    case 'DEADLINE_EXCEEDED':
    case 'UNAVAILABLE':
    case 'STREAM_CUT':
    case 'ABORTED':
    case 'CANCELLED':
    case 'INTERNAL':
    case 'DATA_LOSS':
    case 'UNKNOWN':
      return 'detached';
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
    case 'INVALID_ARGUMENT':
    case 'OUT_OF_RANGE':
    case 'ALREADY_EXISTS':
    case 'FAILED_PRECONDITION':
    case 'UNIMPLEMENTED':
    case 'NOT_COLAB':
      return 'refused';
  }
}

function isUnexplained(failure: Failure): boolean {
  return ['UNKNOWN', 'INTERNAL', 'DATA_LOSS', 'CANCELLED'].includes(failure.status);
}

/** Which stream it is only our own server says. */
function toChunk({ message, _meta }: ProgressParams): FollowedChunk {
  const mark = _meta?.['colab-solver/stream'];
  return { stream: mark === 'stdout' || mark === 'stderr' ? mark : undefined, text: message ?? '' };
}
