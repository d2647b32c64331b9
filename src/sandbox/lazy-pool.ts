import { abortable } from '../abort.js';
import type { Sandbox } from './sandbox.js';
import { closedError } from './sandbox-errors.js';
import { SessionPool } from './session-pool.js';
import type { Lease } from './session-pool.js';

export interface LazyPoolOptions {
  /** Opens the sandbox; the signal fires when the pool is closed meanwhile. */
  open: (signal: AbortSignal) => Promise<Sandbox>;
  /** Whether closing the pool closes the sandbox. */
  ownsSandbox: boolean;
  /** Sessions that may be open at once. */
  size: number;
}

interface Opened {
  sandbox: Sandbox;
  pool: SessionPool;
}

/** A session pool whose sandbox is opened by the first lease, and again after an opening that failed. */
export class LazyPool implements AsyncDisposable {
  readonly #options: LazyPoolOptions;
  readonly #stop = new AbortController();
  #opened: Promise<Opened> | undefined;
  #description: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: LazyPoolOptions) {
    this.#options = options;
  }

  /** Fires when the pool is closed. */
  get closed(): AbortSignal {
    return this.#stop.signal;
  }

  /** The sandbox's, once it has been opened. */
  get description(): string | undefined {
    return this.#description;
  }

  /** @throws {SandboxError} `CLOSED` after {@link close}; as the sandbox does; or the signal's reason. */
  async lease(signal: AbortSignal): Promise<Lease> {
    this.#stop.signal.throwIfAborted();
    this.#opened ??= this.#open();
    const { pool } = await abortable(this.#opened, signal);
    return pool.lease({ signal });
  }

  /** Ends what is open, also what is just being opened. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #open(): Promise<Opened> {
    const { open, size } = this.#options;
    try {
      const sandbox = await open(this.#stop.signal);
      this.#description = sandbox.description;
      return { sandbox, pool: new SessionPool(sandbox, { size }) };
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async #close(): Promise<void> {
    this.#stop.abort(closedError('The solver'));
    // Whoever waited for an opening that failed was told; there is nothing to end then.
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.pool.close();
    if (this.#options.ownsSandbox) await opened?.sandbox.close();
  }
}
