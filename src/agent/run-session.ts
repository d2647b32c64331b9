import { abortable } from '../abort.js';
import { SandboxError } from '../errors.js';
import type { Session } from '../sandbox/sandbox.js';
import type { AttachedFile } from './attached-file.js';
import type { ResultFile } from './events.js';
import { collectFiles, folderState } from './result-file.js';
import type { FolderState } from './result-file.js';
import type { SessionLease, SessionSource } from './session-source.js';

/** A run goes on after this many lost sessions, and fails with the next. */
const MAX_REPLACEMENTS = 3;

interface Opened {
  lease: SessionLease;
  before: FolderState;
}

/** The session of a run or a chat: leased when first wanted, given back at the end, replaced when lost. */
export class RunSession implements SessionSource, AsyncDisposable {
  readonly #lease: (signal: AbortSignal) => Promise<SessionLease>;
  readonly #files: readonly AttachedFile[];
  readonly #over = new AbortController();
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;
  #replacements = 0;

  constructor(
    lease: (signal: AbortSignal) => Promise<SessionLease>,
    files: readonly AttachedFile[],
  ) {
    this.#lease = lease;
    this.#files = files;
  }

  async current(signal: AbortSignal): Promise<Session> {
    this.#opening ??= this.#open(this.#over.signal).catch((error: unknown) => {
      // A chat goes on after a failure, and tries again.
      this.#opening = undefined;
      throw error;
    });
    const { lease } = await abortable(this.#opening, signal);
    return lease.session;
  }

  async replace(signal: AbortSignal): Promise<Session> {
    const lost = this.#opened;
    this.#opened = undefined;
    this.#opening = undefined;
    await lost?.lease.discard();
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
    await opened?.lease.session.uploadFile(name, { path }, { signal });
  }

  /** Begins another turn in the same session: what it makes is told apart from what is there. */
  async beginTurn(signal: AbortSignal): Promise<void> {
    this.#replacements = 0;
    if (this.#opened === undefined) return;
    this.#opened.before = await folderState(this.#opened.lease.session, signal);
  }

  /** What scripts made in the working directory, fetched so that it outlives the session. */
  async filesMade(signal: AbortSignal): Promise<ResultFile[]> {
    if (this.#opened === undefined) return [];
    const { lease, before } = this.#opened;
    const inputs = new Set(this.#files.map((file) => file.name));
    return collectFiles(lease.session, before, inputs, signal);
  }

  async #open(signal: AbortSignal): Promise<Opened> {
    const lease = await this.#lease(signal);
    try {
      for (const { name, path } of this.#files) {
        await lease.session.uploadFile(name, { path }, { signal });
      }
      this.#opened = { lease, before: await folderState(lease.session, signal) };
      return this.#opened;
    } catch (error) {
      await lease.discard();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('The run is over.'));
    // Where opening failed there is nothing to give back; whoever asked for the session was told.
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.lease.release();
  }
}
