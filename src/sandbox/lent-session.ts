import { linkSignal, onAbort } from '../abort.js';
import { SandboxError } from '../errors.js';
import type { ExecutionResult, SandboxFile } from './execution.js';
import type { ExecuteOptions, FileContent, Session } from './sandbox.js';
import { closedError } from './sandbox-errors.js';

interface FileOptions {
  signal?: AbortSignal;
}

/** A session in the hands of one user, until it ends; then every call is refused. */
export class LentSession implements Session {
  readonly name: string;
  readonly #session: Session;
  readonly #ended = new AbortController();
  readonly #calls = new Set<Promise<unknown>>();
  #isLost = false;

  constructor(session: Session) {
    this.#session = session;
    this.name = session.name;
  }

  /** True where it cannot be lent again. */
  get isLost(): boolean {
    return this.#isLost;
  }

  execute(code: string, options: ExecuteOptions): Promise<ExecutionResult> {
    return this.#call(options, (signal) => this.#session.execute(code, { ...options, signal }));
  }

  uploadFile(path: string, content: FileContent, options: FileOptions = {}): Promise<void> {
    return this.#call(options, (signal) => this.#session.uploadFile(path, content, { signal }));
  }

  listFiles(options: FileOptions = {}): Promise<SandboxFile[]> {
    return this.#call(options, (signal) => this.#session.listFiles({ signal }));
  }

  downloadFile(path: string, options: FileOptions = {}): Promise<Uint8Array> {
    return this.#call(options, (signal) => this.#session.downloadFile(path, { signal }));
  }

  saveFile(path: string, target: string, options: FileOptions = {}): Promise<void> {
    return this.#call(options, (signal) => this.#session.saveFile(path, target, { signal }));
  }

  async close(): Promise<void> {
    this.#isLost = true;
    await this.#session.close();
  }

  /** Interrupts what still runs and waits for its end. */
  async end(): Promise<void> {
    this.#ended.abort(closedError(`The lease of ${this.name}`));
    await Promise.allSettled(this.#calls);
  }

  async #call<T>(options: FileOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#ended.signal.throwIfAborted();
    using linked = linkSignal(options.signal);
    const listener = onAbort(this.#ended.signal, () => {
      linked.abort(this.#ended.signal.reason);
    });
    const call = work(linked.signal);
    this.#calls.add(call);
    try {
      return await call;
    } catch (error) {
      if (error instanceof SandboxError && MAKES_USELESS.has(error.code)) this.#isLost = true;
      throw error;
    } finally {
      this.#calls.delete(call);
      listener[Symbol.dispose]();
    }
  }
}

const MAKES_USELESS: ReadonlySet<string> = new Set([
  'SESSION_LOST',
  'RUNTIME_LOST',
  'EXECUTION_UNKNOWN',
  'CLOSED',
]);
