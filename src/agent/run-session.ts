import { abortable } from '../abort.js';
import { SandboxError } from '../errors.js';
import type { Session } from '../sandbox/sandbox.js';
import type { AttachedFile } from './attached-file.js';
import type { ResultFile } from './events.js';
import { collectFiles, DEFAULT_KEPT_BYTES } from './result-file.js';
import { RunFiles } from './run-files.js';
import type { SessionLease, SessionSource } from './session-source.js';

/** A run goes on after this many lost sessions, and fails with the next. */
const MAX_REPLACEMENTS = 3;

/** The session of a run or a chat: leased when first wanted, given back at the end, replaced when lost. */
export class RunSession implements SessionSource, AsyncDisposable {
  readonly #lease: (signal: AbortSignal) => Promise<SessionLease>;
  readonly #files: readonly AttachedFile[];
  readonly #over = new AbortController();
  readonly made: RunFiles;
  readonly #keptBytes: number;
  #opening: Promise<SessionLease> | undefined;
  #opened: SessionLease | undefined;
  #replacements = 0;

  constructor(
    lease: (signal: AbortSignal) => Promise<SessionLease>,
    files: readonly AttachedFile[],
    options: { keptBytes?: number | undefined } = {},
  ) {
    this.#lease = lease;
    this.#files = files;
    this.made = new RunFiles((path) => files.some(({ name }) => name === path));
    this.#keptBytes = options.keptBytes ?? DEFAULT_KEPT_BYTES;
  }

  async current(signal: AbortSignal): Promise<Session> {
    this.#opening ??= this.#open(this.#over.signal).catch((error: unknown) => {
      // A chat goes on after a failure, and tries again.
      this.#opening = undefined;
      throw error;
    });
    return (await abortable(this.#opening, signal)).session;
  }

  async replace(signal: AbortSignal): Promise<Session> {
    const lost = this.#opened;
    this.#opened = undefined;
    this.#opening = undefined;
    await lost?.discard();
    this.#replacements += 1;
    if (this.#replacements > MAX_REPLACEMENTS) {
      throw new SandboxError(
        'SESSION_LOST',
        `The session was lost ${this.#replacements} times in this run. The scripts may need more memory than the ` +
          'runtime has; try smaller data or a larger runtime.',
      );
    }
    return this.current(signal);
  }

  /** True once a script can run without waiting. */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Uploads a file that was added to the list of files since the session was opened; later sessions get it anyway. */
  async upload({ name, path }: AttachedFile, signal: AbortSignal): Promise<void> {
    const opened = await (this.#opening && abortable(this.#opening, signal));
    await opened?.session.uploadFile(name, { path }, { signal });
  }

  /** Begins another turn in the same session. */
  beginTurn(): void {
    this.#replacements = 0;
  }

  /** What scripts have made since the last call, fetched so far that it outlives the session. */
  filesMade(signal: AbortSignal): Promise<ResultFile[]> {
    return collectFiles(this.made, {
      session: this.#opened?.session,
      lend: (until, work) => this.#lend(until, work),
      keptBytes: this.#keptBytes,
      signal,
    });
  }

  /** Files are the runtime's, so once ours is given back any session will do. */
  async #lend<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#opened !== undefined) return work(this.#opened.session);
    const lease = await this.#lease(signal);
    try {
      return await work(lease.session);
    } finally {
      await lease.release();
    }
  }

  async #open(signal: AbortSignal): Promise<SessionLease> {
    const lease = await this.#lease(signal);
    try {
      for (const { name, path } of this.#files) {
        await lease.session.uploadFile(name, { path }, { signal });
      }
      this.#opened = lease;
      return lease;
    } catch (error) {
      await lease.discard();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('The run is over.'));
    // Where opening failed there is nothing to give back; whoever asked for the session was told.
    const opened = await this.#opening?.catch(() => undefined);
    this.#opened = undefined;
    await opened?.release();
  }
}
