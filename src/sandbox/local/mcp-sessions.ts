import { randomUUID } from 'node:crypto';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { CallEnd } from './tool.js';

/** The MCP sessions handed out at `initialize`; the one unused for longest gives way to a new one above the limit. */
export class McpSessions {
  readonly #limit: number;
  readonly #ids = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  open(): string {
    const id = randomUUID();
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (oldest !== undefined && this.#ids.size > this.#limit) this.#ids.delete(oldest);
    return id;
  }

  /** False where there is no such session. */
  touch(id: string): boolean {
    if (!this.#ids.delete(id)) return false;
    this.#ids.add(id);
    return true;
  }

  close(id: string): boolean {
    return this.#ids.delete(id);
  }
}

/** A cancellation that overtakes its call, on another connection, is remembered this long. */
const OVERTAKING_MS = 2_000;
const MAX_OVERTAKING = 100;

/** One call without an answer yet. */
export interface CallInFlight extends Disposable {
  /** Fires with a {@link CallEnd}. */
  readonly signal: AbortSignal;
  end(reason: CallEnd): void;
}

/** The calls in flight, by MCP session (or none) and request id, so that they can be cancelled. */
export class CallsInFlight {
  readonly #calls = new Map<string, Set<AbortController>>();
  /** Cancelled before they came, with the time of that. */
  readonly #overtaken = new Map<string, number>();

  add(sessionId: string | undefined, requestId: RequestId): CallInFlight {
    const key = keyOf(sessionId, requestId);
    const controller = new AbortController();
    const calls = this.#calls.get(key) ?? new Set();
    this.#calls.set(key, calls.add(controller));
    if (this.#isOvertaken(key)) controller.abort(new CallEnd('cancelled'));
    return {
      signal: controller.signal,
      end(reason) {
        controller.abort(reason);
      },
      [Symbol.dispose]: () => {
        calls.delete(controller);
        if (calls.size === 0) this.#calls.delete(key);
      },
    };
  }

  /** Clients without a session share their request ids: one that two calls bear cancels neither. */
  cancel(sessionId: string | undefined, requestId: RequestId): void {
    const key = keyOf(sessionId, requestId);
    const [call, ...others] = this.#calls.get(key) ?? [];
    if (call === undefined && sessionId !== undefined) this.#remember(key);
    if (others.length === 0) call?.abort(new CallEnd('cancelled'));
  }

  endAll(reason: CallEnd): void {
    for (const calls of this.#calls.values()) for (const call of calls) call.abort(reason);
  }

  #remember(key: string): void {
    this.#overtaken.set(key, performance.now());
    const [oldest] = this.#overtaken.keys();
    if (oldest !== undefined && this.#overtaken.size > MAX_OVERTAKING)
      this.#overtaken.delete(oldest);
  }

  #isOvertaken(key: string): boolean {
    const cancelledAt = this.#overtaken.get(key) ?? -Infinity;
    this.#overtaken.delete(key);
    return performance.now() - cancelledAt < OVERTAKING_MS;
  }
}

/** The ids 1 and "1" are two. */
function keyOf(sessionId: string | undefined, requestId: RequestId): string {
  return JSON.stringify([sessionId ?? null, requestId]);
}
