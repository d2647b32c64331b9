import { abortable } from '../../abort.js';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { retry } from '../../retry.js';
import type { ExecutionResult, SandboxFile } from '../execution.js';
import type { ExecuteOptions, FileContent, Session } from '../sandbox.js';
import type { Ledger, Noted, SessionEntry } from '../ledger.js';
import { closedError, runtimeLost } from '../sandbox-errors.js';
import { callSafely } from './call-safely.js';
import { ColabKernel } from './colab-kernel.js';
import { deleteSession } from './delete-calls.js';
import { withDisplays } from './displays.js';
import type { FileDigest } from './file-check.js';
import { fileCheckCode, seenFile } from './file-check.js';
import type { McpConnection } from './mcp-connection.js';
import type { RuntimeFiles } from './runtime-files.js';
import { RuntimeListSchema, SessionSchema } from './tool-results.js';

export interface SessionPlace {
  connection: McpConnection;
  /** Resource name of the runtime. */
  runtime: string;
  files: RuntimeFiles;
  policy: RetryPolicy;
  settleMs: number;
  /** Where sessions are noted; absent where they end with this process anyway. */
  ledger?: Ledger | undefined;
  /** UUID of the sandbox, to tell its sessions from those of others. */
  holder: string;
  /** All that may be there still; a session enters when it is opened and leaves once it is surely deleted. */
  sessions: Set<ColabSession>;
}

interface FileOptions {
  signal?: AbortSignal;
}

/** Recognisable among the sessions of a user's notebooks; RFC 1034 wants a letter first. */
const ID_PREFIX = 'cs-';
const DELETE_MS = 15_000;
/** A hash of hundreds of gigabytes. */
const CHECK_MS = 900_000;

/** A session on a Colab runtime that we opened. */
export class ColabSession implements Session {
  readonly name: string;
  readonly #place: SessionPlace;
  readonly #kernel: ColabKernel;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;
  #deleting: Promise<void> | undefined;

  private constructor(name: string, place: SessionPlace) {
    this.name = name;
    this.#place = place;
    this.#kernel = new ColabKernel({
      ...place,
      session: name,
      deleteSession: () => this.close(),
    });
  }

  static async open(place: SessionPlace, signal: AbortSignal | undefined): Promise<ColabSession> {
    const { connection, policy, runtime } = place;
    const args = { parent: runtime, sessionId: `${ID_PREFIX}${crypto.randomUUID()}` };
    const session = new ColabSession(`${runtime}/sessions/${args.sessionId}`, place);
    place.sessions.add(session);
    try {
      await place.ledger?.note(session.#entry);
      const options = { policy, signal, on: runtime };
      await callSafely(connection, 'create_session', args, SessionSchema, options);
      await session.#kernel.mark(signal);
      return session;
    } catch (error) {
      // It may have been made though the call failed. The first error is the one to tell of.
      const explained = await session.#explained(error);
      await session.close().catch(() => undefined);
      throw explained;
    }
  }

  execute(code: string, options: ExecuteOptions): Promise<ExecutionResult> {
    return this.#inTurn(options.signal, async () => {
      try {
        const { result, report } = await this.#kernel.execute(code, options);
        const { token } = this.#kernel;
        const { files } = this.#place;
        return await withDisplays(result, { files, token, report, signal: options.signal });
      } catch (error) {
        throw await this.#explained(error);
      }
    });
  }

  uploadFile(path: string, content: FileContent, options: FileOptions = {}): Promise<void> {
    const check = () => this.#check(path, options);
    return this.#place.files.upload(path, content, { ...options, check });
  }

  listFiles(options: FileOptions = {}): Promise<SandboxFile[]> {
    return this.#place.files.list(options);
  }

  downloadFile(path: string, options: FileOptions = {}): Promise<Uint8Array> {
    return this.#place.files.download(path, options);
  }

  saveFile(path: string, target: string, options: FileOptions = {}): Promise<void> {
    return this.#place.files.save(path, target, options);
  }

  /** After a failure a further call tries again. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#deleting ??= this.#delete().catch((error: unknown) => {
      this.#deleting = undefined;
      throw error;
    });
    return this.#deleting;
  }

  get #entry(): Noted<SessionEntry> {
    const { connection, holder } = this.#place;
    return { kind: 'session', url: connection.url, name: this.name, holder };
  }

  async #delete(): Promise<void> {
    const { connection, policy, ledger } = this.#place;
    try {
      const signal = AbortSignal.timeout(DELETE_MS);
      await deleteSession(connection, this.name, { policy, signal });
      await ledger?.forget(this.#entry);
    } catch (error) {
      if (!isClosed(error)) throw error;
    }
    this.#place.sessions.delete(this);
  }

  /** Reading a file does no harm, so where nobody knows whether the script ran it runs again. */
  async #check(path: string, options: FileOptions): Promise<FileDigest | undefined> {
    const code = fileCheckCode(path);
    const look = () => this.execute(code, { ...options, timeoutMs: CHECK_MS });
    const { policy } = this.#place;
    const isRetryable = (error: unknown) =>
      error instanceof SandboxError && error.code === 'EXECUTION_UNKNOWN';
    return seenFile(await retry(look, { ...options, policy, isRetryable }), path);
  }

  /** One script at a time: a second would queue on the server, and an interrupt could hit the wrong one. */
  async #inTurn<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#turn = before.then(() => ended);
    try {
      await abortable(before, signal);
      if (this.#kernel.lost !== undefined) throw this.#kernel.lost;
      if (this.#isClosed) throw closedError(`The session ${this.name}`);
      return await work();
    } finally {
      end();
    }
  }

  /** Tells a lost runtime from a lost session. */
  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof SandboxError)) return error;
    if (this.#isClosed && this.#kernel.lost === undefined) {
      return closedError(`The session ${this.name}`);
    }
    if (error.code !== 'SESSION_LOST' && error.code !== 'NOT_FOUND') return error;
    return (await this.#runtimeIsListed()) ? error : runtimeLost(this.#place.runtime, error);
  }

  async #runtimeIsListed(): Promise<boolean> {
    const { connection, policy, runtime } = this.#place;
    try {
      const schema = RuntimeListSchema;
      const listed = await callSafely(connection, 'list_runtimes', {}, schema, { policy });
      return listed.runtimes.some(({ name }) => name === runtime);
    } catch {
      // Nothing is known of the runtime then; that the session is lost stays true.
      return true;
    }
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof SandboxError && error.code === 'CLOSED';
}
