import { linkSignal } from '../../abort.js';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import type { ExecutionResult } from '../execution.js';
import type { ExecuteOptions } from '../sandbox.js';
import { executionUnknown, sessionLost } from '../sandbox-errors.js';
import type { McpConnection } from './mcp-connection.js';
import { ResumableExecution } from './resumable-execution.js';
import {
  carriesToken,
  guardCode,
  headed,
  PROBE_CODE,
  reportIn,
  wasNotRun,
  wasRefusedAsRepeated,
} from './session-guard.js';
import { readReport, watchCode } from './session-watch.js';
import type { WatchReport } from './session-watch.js';
import type { ExecuteCodeResult } from './tool-results.js';
import { toExecutionResult } from './tool-results.js';
import { WatchedOutput } from './watched-output.js';

export interface KernelOptions {
  connection: McpConnection;
  /** Resource name, `runtimes/{runtime}/sessions/{session}`. */
  session: string;
  policy: RetryPolicy;
  /** How long an interrupted script may take to end before its session is deleted. */
  settleMs: number;
  /** Deletes the session; the last resort against a script that does not end. */
  deleteSession: () => Promise<void>;
}

/** A script's result, and what the session's watch said of it. */
export interface Executed {
  result: ExecutionResult;
  report: WatchReport | undefined;
}

/** For the tiny scripts of our own. */
const OWN_SCRIPT_MS = 60_000;

const REPLACED = 'its kernel died, and the empty one put in its place did not run the script.';

/** A session's kernel, as far as the server lets us know it. Calls must not overlap. */
export class ColabKernel {
  readonly #options: KernelOptions;
  /** Names the kernel to its guard and its watch. */
  readonly token = crypto.randomUUID();
  #lastCount = 0;
  #lastReport = '';
  #lost: SandboxError | undefined;

  constructor(options: KernelOptions) {
    this.#options = options;
  }

  /** Why nothing can run here any more. */
  get lost(): SandboxError | undefined {
    return this.#lost;
  }

  /** Marks the kernel, so that one silently put in its place is noticed and no request runs twice. */
  async mark(signal: AbortSignal | undefined): Promise<void> {
    using limit = linkSignal(signal, OWN_SCRIPT_MS);
    const code = `${guardCode(this.token)}\n${watchCode(this.token)}`;
    const result = await this.#run(code, limit.signal);
    this.#lastCount = result.executionCount;
    if (!result.executionError) return;
    const { name, value } = result.executionError;
    throw this.#lose(`its kernel could not be prepared (${name}: ${value}).`);
  }

  async execute(code: string, options: ExecuteOptions): Promise<Executed> {
    options.signal?.throwIfAborted();
    const startedAt = performance.now();
    const output = new WatchedOutput(this.token, options.onOutput);
    using limit = linkSignal(options.signal, options.timeoutMs);
    const executionId = crypto.randomUUID();
    const script = headed(this.token, executionId, code);
    const execution = this.#execution({ executionId, code: script }, limit.signal, output);
    let result: ExecuteCodeResult | undefined;
    try {
      result = await this.#resultOf(execution);
    } catch (error) {
      if (!limit.signal.aborted) throw this.#noted(error);
      await this.#interrupt(execution, options.signal);
    }
    const durationMs = performance.now() - startedAt;
    const clean = result === undefined ? undefined : output.finish(result);
    output.throwIfListenerFailed();
    if (clean !== undefined) {
      return { result: toExecutionResult(clean, durationMs), report: output.report };
    }
    const limitMs = options.timeoutMs;
    const partial = { ...output.partial(), richOutputs: [] };
    const report = output.report ?? this.#reportOf(executionId);
    return { result: { status: 'deadline-exceeded', limitMs, ...partial, durationMs }, report };
  }

  #execution(
    request: { executionId: string; code: string },
    signal: AbortSignal,
    output?: WatchedOutput,
  ): ResumableExecution {
    const { connection, session, policy } = this.#options;
    return new ResumableExecution({
      ...request,
      connection,
      session,
      policy,
      signal,
      onOutput: (chunk) => output?.add(chunk),
      onReattach: () => output?.reattach(),
    });
  }

  async #resultOf(execution: ResumableExecution): Promise<ExecuteCodeResult> {
    const result = await execution.result();
    if (wasNotRun(result)) throw this.#lose(REPLACED);
    if (wasRefusedAsRepeated(result)) {
      throw executionUnknown(
        this.#options.session,
        'it ran to its end once, but the answer was lost on the way.',
      );
    }
    const isFurther = result.executionCount > this.#lastCount;
    this.#lastCount = result.executionCount;
    if (isFurther || (await this.#isSameKernel())) return result;
    throw this.#lose(REPLACED);
  }

  /** A tiny script of our own, which does no harm when it runs twice. */
  #run(code: string, signal: AbortSignal): Promise<ExecuteCodeResult> {
    return this.#execution({ executionId: crypto.randomUUID(), code }, signal).result();
  }

  /** What the watch said of a script whose answer was not waited for. */
  #reportOf(executionId: string): WatchReport | undefined {
    const report = readReport(this.#lastReport);
    return report?.execution === executionId ? report : undefined;
  }

  async #isSameKernel(): Promise<boolean> {
    using limit = linkSignal(undefined, OWN_SCRIPT_MS);
    const result = await this.#run(PROBE_CODE, limit.signal);
    this.#lastCount = result.executionCount;
    return carriesToken(result, this.token);
  }

  /**
   * Returns when the script has ended, at the latest with its session.
   * @throws the signal's reason where it has fired, else `EXECUTION_UNKNOWN` where the script may be running still.
   */
  async #interrupt(execution: ResumableExecution, signal: AbortSignal | undefined): Promise<void> {
    if (!execution.mayHaveRun) {
      signal?.throwIfAborted();
      if (execution.lastError !== undefined) throw execution.lastError;
      return;
    }
    if (!execution.isAttached) await execution.interrupt();
    const unstopped = (await this.#stops(execution)) ? undefined : await this.#stopForGood();
    signal?.throwIfAborted();
    if (unstopped !== undefined) throw unstopped;
  }

  /** Interrupts again when half the time has passed: the first interrupt may have gone astray with its connection. */
  async #stops(execution: ResumableExecution): Promise<boolean> {
    const halfMs = this.#options.settleMs / 2;
    if (await this.#settlesWithin(halfMs)) return true;
    await execution.interrupt();
    return this.#settlesWithin(halfMs);
  }

  /** Our own tiny script runs when the interrupted one has ended. */
  async #settlesWithin(ms: number): Promise<boolean> {
    using limit = linkSignal(undefined, ms);
    try {
      for (;;) {
        const result = await this.#run(PROBE_CODE, limit.signal);
        this.#lastCount = result.executionCount;
        if (carriesToken(result, this.token)) {
          this.#lastReport = reportIn(result);
          return true;
        }
        // The interrupt may come late and hit the probe, or take it from the queue.
        if (!/interrupt|abort/i.test(result.executionError?.name ?? '')) return false;
      }
    } catch {
      return false;
    }
  }

  async #stopForGood(): Promise<SandboxError | undefined> {
    this.#lose('its script did not end when it was interrupted, so it was deleted.');
    try {
      await this.#options.deleteSession();
      return undefined;
    } catch (cause) {
      const why = 'it could neither be interrupted nor ended with its session.';
      return executionUnknown(this.#options.session, why, cause);
    }
  }

  #noted(error: unknown): unknown {
    if (error instanceof SandboxError && error.code === 'SESSION_LOST') this.#lost = error;
    return error;
  }

  #lose(why: string): SandboxError {
    this.#lost = sessionLost(this.#options.session, why);
    return this.#lost;
  }
}
