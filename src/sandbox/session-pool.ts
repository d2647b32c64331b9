import PQueue from 'p-queue';
import { onAbort } from '../abort.js';
import { ConfigError, SandboxError } from '../errors.js';
import { retry } from '../retry.js';
import { LentSession } from './lent-session.js';
import type { Sandbox, Session } from './sandbox.js';
import { closedError } from './sandbox-errors.js';
import { captureBaseline, resetSession } from './session-reset.js';

export interface PoolOptions {
  /** Sessions that may be open at once; further leases wait in turn. */
  size: number;
  /** Unlent sessions kept ready in the background; default 0. */
  warmSpares?: number;
}

/** A session lent to one user at a time. */
export interface Lease extends AsyncDisposable {
  /** Throws `CLOSED` once the lease has ended. */
  readonly session: Session;
  /** Gives the session back; it is reset in the background before it is lent again. Same as disposing. */
  release(): Promise<void>;
  /** Gives it back as unusable; it is deleted and replaced in the background. */
  discard(): Promise<void>;
}

/** A session of ours, lent or not. */
interface Member {
  session: Session;
  canReset: boolean;
}

interface Waiter {
  give(member: Member): void;
  fail(error: Error): void;
}

/**
 * Lends the sessions of a sandbox, first come first served. A session goes back only after a reset that was checked from
 * inside; one that cannot be proved clean is deleted. Files are not reset: sessions of a runtime share the folder.
 */
export class SessionPool implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  readonly #size: number;
  readonly #warmSpares: number;
  readonly #idle: Member[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #members = new Set<Member>();
  /** Opening, resetting, deleting: what goes on in the background. */
  readonly #chores = new PQueue();
  readonly #stop = new AbortController();
  #opening = 0;
  #resetting = 0;
  #closing: Promise<void> | undefined;

  constructor(sandbox: Sandbox, options: PoolOptions) {
    if (!(options.size >= 1)) {
      throw new ConfigError(
        'BAD_OPTION',
        `A session pool of ${options.size} lends nothing. Use 1 or more.`,
      );
    }
    this.#sandbox = sandbox;
    this.#size = options.size;
    this.#warmSpares = options.warmSpares ?? 0;
    this.#stock();
  }

  /** @throws {SandboxError} where no session can be opened, or the signal's reason; then nobody's place is lost but one's own. */
  async lease(options: { signal?: AbortSignal | undefined } = {}): Promise<Lease> {
    options.signal?.throwIfAborted();
    if (this.#closing !== undefined) throw closedError('The session pool');
    const member = this.#idle.shift() ?? (await this.#wait(options.signal));
    this.#stock();
    return this.#lend(member);
  }

  /** Ends every session, lent ones included. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stop.abort(closedError('The session pool'));
    for (const waiter of this.#waiters.splice(0)) waiter.fail(closedError('The session pool'));
    await this.#chores.onIdle();
    const closed = await Promise.allSettled(
      [...this.#members].map(({ session }) => session.close()),
    );
    const failed = closed.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  #wait(signal: AbortSignal | undefined): Promise<Member> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        listener[Symbol.dispose]();
        const place = this.#waiters.indexOf(waiter);
        if (place !== -1) this.#waiters.splice(place, 1);
      };
      const waiter: Waiter = {
        give: (member) => {
          leave();
          resolve(member);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const listener = onAbort(signal, () => {
        leave();
        reject(signal?.reason as Error);
      });
      this.#waiters.push(waiter);
      this.#stock();
    });
  }

  #lend(member: Member): Lease {
    const session = new LentSession(member.session);
    let end: Promise<void> | undefined;
    const finish = (keep: boolean): Promise<void> => {
      end ??= session.end().then(() => {
        this.#takeBack(member, keep && !session.isLost);
      });
      return end;
    };
    const release = (): Promise<void> => finish(true);
    return { session, release, discard: () => finish(false), [Symbol.asyncDispose]: release };
  }

  #takeBack(member: Member, keep: boolean): void {
    this.#do(() => (keep && member.canReset ? this.#reset(member) : this.#replace(member)));
  }

  async #reset(member: Member): Promise<void> {
    this.#resetting += 1;
    const isClean = await this.#isCleanAfterReset(member.session);
    this.#resetting -= 1;
    if (isClean) this.#offer(member);
    else await this.#replace(member);
  }

  async #isCleanAfterReset(session: Session): Promise<boolean> {
    try {
      const problems = await resetSession(session, { signal: this.#stop.signal });
      return problems.length === 0;
    } catch {
      // Whatever it was, the session is not proved clean, and a fresh one takes its place.
      return false;
    }
  }

  async #replace(member: Member): Promise<void> {
    // A session that is gone already, or cannot be deleted, is no concern of the next lease.
    await member.session.close().catch(() => undefined);
    this.#members.delete(member);
    this.#stock();
  }

  #offer(member: Member): void {
    const waiter = this.#waiters[0];
    if (waiter === undefined) this.#idle.push(member);
    else waiter.give(member);
  }

  /** Opens as many sessions as are waited for, or wanted as spares, and fit in. */
  #stock(): void {
    if (this.#stop.signal.aborted) return;
    const wanted = Math.max(
      this.#waiters.length - this.#resetting,
      this.#warmSpares - this.#idle.length,
    );
    const room = this.#size - this.#members.size - this.#opening;
    for (let open = Math.min(wanted - this.#opening, room); open > 0; open--)
      this.#do(() => this.#open());
  }

  async #open(): Promise<void> {
    this.#opening += 1;
    try {
      const member = await retry(() => this.#openMember(), {
        policy: OPEN_POLICY,
        signal: this.#stop.signal,
        isRetryable: isMishap,
      });
      this.#members.add(member);
      this.#opening -= 1;
      this.#offer(member);
    } catch (error) {
      this.#opening -= 1;
      // With nobody waiting it was for a spare; the next lease tries again and hears of it.
      this.#waiters[0]?.fail(error as Error);
      if (this.#waiters.length > 0) this.#stock();
    }
  }

  async #openMember(): Promise<Member> {
    const { signal } = this.#stop;
    const session = await this.#sandbox.openSession({ signal });
    try {
      return { session, canReset: await captureBaseline(session, { signal }) };
    } catch (error) {
      await session.close().catch(() => undefined);
      throw error;
    }
  }

  /** Chores do not fail; what goes wrong in one is told to whoever waits for its outcome. */
  #do(chore: () => Promise<void>): void {
    void this.#chores.add(chore);
  }
}

const OPEN_POLICY = { attempts: 3, firstDelayMs: 200, maxDelayMs: 1_000, maxServerDelayMs: 0 };

const MISHAPS: ReadonlySet<string> = new Set(['SESSION_LOST', 'RUNTIME_LOST', 'EXECUTION_UNKNOWN']);

/** A fresh session that was lost, or whose preparation was, holds nothing; another one does as well. */
function isMishap(error: unknown): boolean {
  return error instanceof SandboxError && MISHAPS.has(error.code);
}
