import { abortable, linkSignal } from '../../abort.js';
import { SandboxError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { DEFAULT_RETRY_POLICY } from '../../retry.js';
import type { Ledger } from '../ledger.js';
import type { Sandbox, Session } from '../sandbox.js';
import { closedError } from '../sandbox-errors.js';
import { AcceleratorWish } from './accelerator-wish.js';
import type { SessionPlace } from './colab-session.js';
import { ColabSession } from './colab-session.js';
import { deleteRuntime } from './delete-calls.js';
import { clearQuietly, isUsedByOthers } from './left-behind.js';
import type { RuntimeCalls } from './make-runtime.js';
import { openEndpoint } from './endpoint.js';
import type { Endpoint } from './endpoint.js';
import { RuntimeFiles } from './runtime-files.js';
import type { FoundRuntime, RuntimeWish } from './runtimes.js';
import { findRuntime } from './runtimes.js';
import type { Runtime } from './tool-results.js';

export interface ColabOptions extends Endpoint {
  /** `runtimes/{id}`: use this one. Default: a listed one that fits, else a new one. */
  runtime?: string;
  /** Such as `T4` or `L4:HIGHMEM`, or several in order: `A100,L4,T4`. Default `NONE`. */
  accelerator?: string;
  /** Label of the runtime's image, such as `2026.07`; default the newest. */
  runtimeVersion?: string;
  /** UUID of the wish for a new runtime, for the first spec tried; default a fresh one. The same id never makes a second runtime. */
  requestId?: string;
  /** Whether closing deletes the runtime where we made it; one that was there before is never deleted. Default false. */
  deleteRuntime?: boolean;
  /** Where sessions and runtimes are noted, to be closed after a crash. Default: nowhere, as they end with this process. */
  ledger?: Ledger;
  /** What a person should know, such as that a runtime is being made. */
  onNotice?: (text: string) => void;
  signal?: AbortSignal;
  /** How failed calls are repeated. */
  policy?: RetryPolicy;
  /** How long an interrupted script may take to end before its session is deleted. Default 10,000 ms. */
  settleMs?: number;
}

/**
 * Connects to a Colab MCP server and takes a runtime on it.
 * @throws {ConfigError} for a bad URL or accelerator; {@link SandboxError} otherwise, as in docs/errors.md.
 */
export async function connectColab(options: ColabOptions): Promise<Sandbox> {
  const { policy = DEFAULT_RETRY_POLICY, ledger, onNotice, signal } = options;
  const connection = openEndpoint(options);
  const calls = { connection, ledger, policy, onNotice };
  try {
    const found = await findRuntime(wishOf(options), { ...calls, signal });
    return new ColabSandbox(calls, found, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function wishOf({ runtime, accelerator, runtimeVersion, requestId }: ColabOptions): RuntimeWish {
  const accelerators = new AcceleratorWish(accelerator ?? 'NONE');
  return { runtime, accelerators, version: runtimeVersion, requestId };
}

const DEFAULT_SETTLE_MS = 10_000;
const DELETE_RUNTIME_MS = 60_000;

/** A runtime with what is needed to open sessions on it. */
interface Home {
  found: FoundRuntime;
  place: SessionPlace;
}

/** One runtime of a Colab server at a time; another one where it was lost. */
class ColabSandbox implements Sandbox {
  readonly #calls: Omit<RuntimeCalls, 'signal'>;
  readonly #options: ColabOptions;
  readonly #holder = crypto.randomUUID();
  readonly #opening = new Set<Promise<ColabSession>>();
  readonly #sessions = new Set<ColabSession>();
  readonly #stop = new AbortController();
  readonly #tidying: Promise<void>;
  #home: Home;
  #moving: Promise<Home> | undefined;
  #closing: Promise<void> | undefined;

  constructor(calls: Omit<RuntimeCalls, 'signal'>, found: FoundRuntime, options: ColabOptions) {
    this.#calls = calls;
    this.#options = options;
    this.#home = this.#homeOn(found);
    this.#tidying = this.#tidy();
  }

  get description(): string {
    return describe(this.#home.found.runtime, this.#calls.connection.url);
  }

  async openSession(options: { signal?: AbortSignal } = {}): Promise<Session> {
    if (this.#closing !== undefined) throw closedError('The sandbox');
    const opening = this.#openSession(options.signal);
    this.#opening.add(opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(opening);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #openSession(signal: AbortSignal | undefined): Promise<ColabSession> {
    const home = this.#home;
    try {
      return await ColabSession.open(home.place, signal);
    } catch (error) {
      const isLost = error instanceof SandboxError && error.code === 'RUNTIME_LOST';
      if (!isLost || this.#options.runtime !== undefined) throw error;
      const next = await abortable(this.#moveFrom(home), signal);
      return ColabSession.open(next.place, signal);
    }
  }

  /** All who lost the same runtime go to the same other one. */
  #moveFrom(lost: Home): Promise<Home> {
    if (this.#home !== lost) return Promise.resolve(this.#home);
    this.#moving ??= this.#move(lost).finally(() => {
      this.#moving = undefined;
    });
    return this.#moving;
  }

  async #move({ found: { runtime } }: Home): Promise<Home> {
    const { connection, ledger, onNotice } = this.#calls;
    // The id of a wish that was fulfilled would find the lost runtime again.
    const wish = { ...wishOf(this.#options), requestId: undefined };
    await ledger?.forgetRuntime(connection.url, runtime.name);
    const found = await findRuntime(wish, { ...this.#calls, signal: this.#stop.signal });
    onNotice?.(`The runtime ${runtime.name} is gone; going on with ${found.runtime.name}.`);
    this.#home = this.#homeOn(found);
    return this.#home;
  }

  #homeOn(found: FoundRuntime): Home {
    const { connection, policy, ledger } = this.#calls;
    const runtime = found.runtime.name;
    const place: SessionPlace = {
      connection,
      runtime,
      policy,
      ledger,
      holder: this.#holder,
      settleMs: this.#options.settleMs ?? DEFAULT_SETTLE_MS,
      files: new RuntimeFiles(connection, runtime, policy),
      sessions: this.#sessions,
    };
    return { found, place };
  }

  async #tidy(): Promise<void> {
    const { connection, ledger, policy } = this.#calls;
    if (ledger === undefined) return;
    // One try: the run has better uses for the server's patience.
    const once = { ...policy, attempts: 1 };
    await clearQuietly({ connection, ledger, policy: once, signal: this.#stop.signal });
  }

  /** Deletes what we opened, then leaves; what cannot be deleted is reported once all was tried. */
  async #close(): Promise<void> {
    this.#stop.abort(closedError('The sandbox'));
    await Promise.allSettled(this.#opening);
    const closed = await Promise.allSettled([...this.#sessions].map((session) => session.close()));
    try {
      if (this.#options.deleteRuntime === true) await this.#deleteRuntime();
    } finally {
      await this.#calls.connection.close();
      await this.#tidying;
    }
    const failed = closed.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** One that was there before, or that another run of ours uses, stays. */
  async #deleteRuntime(): Promise<void> {
    const { connection, policy, ledger, onNotice } = this.#calls;
    const { runtime, wasCreated } = this.#home.found;
    if (!wasCreated) return;
    if (
      ledger !== undefined &&
      (await isUsedByOthers(runtime.name, this.#holder, connection.url, ledger))
    ) {
      onNotice?.(
        `${runtime.name} was not deleted, since another run uses it. Later: colab-solver sandbox clean --runtimes.`,
      );
      return;
    }
    using limit = linkSignal(undefined, DELETE_RUNTIME_MS);
    await deleteRuntime(connection, runtime.name, { policy, signal: limit.signal });
    await ledger?.forgetRuntime(connection.url, runtime.name);
  }
}

function describe(runtime: Runtime, url: string): string {
  const accelerator = runtime.runtimeSpec?.accelerator ?? 'NONE';
  const machine = accelerator === 'NONE' ? 'no accelerator' : accelerator;
  const version = runtime.version === '' ? '' : `, ${runtime.version}`;
  return `Colab runtime ${runtime.name} (${machine}${version}) on ${new URL(url).host}`;
}
