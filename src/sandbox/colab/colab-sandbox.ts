import { z } from 'zod';
import { linkSignal } from '../../abort.js';
import type { RetryPolicy } from '../../retry.js';
import { DEFAULT_RETRY_POLICY } from '../../retry.js';
import type { Sandbox, Session } from '../sandbox.js';
import { closedError } from '../sandbox-errors.js';
import { callSafely } from './call-safely.js';
import type { SessionPlace } from './colab-session.js';
import { ColabSession } from './colab-session.js';
import { requireSafeUrl } from '../../safe-url.js';
import { McpConnection } from './mcp-connection.js';
import { RuntimeFiles } from './runtime-files.js';
import type { FoundRuntime, RuntimeWish } from './runtimes.js';
import { findRuntime } from './runtimes.js';
import type { SignIn } from './sign-in.js';
import type { Runtime } from './tool-results.js';

export interface ColabOptions {
  /** The MCP endpoint; https, or http on this machine. */
  url: string;
  signIn: SignIn;
  /** Sent as `x-goog-user-project`. */
  quotaProject?: string;
  /** Sent as `x-colab-client-agent`; some OAuth clients are refused without theirs. Default none. */
  clientAgent?: string;
  /** `runtimes/{id}`: use this one. Default: a listed one that fits, else a new one. */
  runtime?: string;
  /** Such as `T4`; default `NONE`. */
  accelerator?: string;
  /** Label of the runtime's image, such as `2026.07`; default the newest. */
  runtimeVersion?: string;
  /** UUID of the wish for a new runtime; default a fresh one. The same id never makes a second runtime. */
  requestId?: string;
  /** Whether closing deletes the runtime where we made it; one that was there before is never deleted. Default false. */
  deleteRuntime?: boolean;
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
  const url = requireSafeUrl(options.url, 'The Colab MCP URL');
  const headers = requestHeaders(options);
  const connection = new McpConnection({ url, signIn: options.signIn, headers });
  const { policy = DEFAULT_RETRY_POLICY, signal, onNotice } = options;
  const { accelerator = 'NONE', requestId = crypto.randomUUID() } = options;
  const wish: RuntimeWish = {
    runtime: options.runtime,
    accelerator,
    version: options.runtimeVersion,
    requestId,
  };
  try {
    const found = await findRuntime(connection, wish, { policy, signal, onNotice });
    return new ColabSandbox(connection, found, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function requestHeaders({ quotaProject, clientAgent }: ColabOptions): Record<string, string> {
  return {
    ...(quotaProject !== undefined && { 'x-goog-user-project': quotaProject }),
    ...(clientAgent !== undefined && { 'x-colab-client-agent': clientAgent }),
  };
}

const DEFAULT_SETTLE_MS = 10_000;
const DELETE_RUNTIME_MS = 60_000;

/** One runtime of a Colab server. */
class ColabSandbox implements Sandbox {
  readonly description: string;
  readonly #place: SessionPlace;
  readonly #deletesRuntime: boolean;
  readonly #opening = new Set<Promise<ColabSession>>();
  readonly #open = new Set<ColabSession>();
  #closing: Promise<void> | undefined;

  constructor(connection: McpConnection, found: FoundRuntime, options: ColabOptions) {
    const { policy = DEFAULT_RETRY_POLICY, settleMs = DEFAULT_SETTLE_MS } = options;
    const runtime = found.runtime.name;
    this.description = describe(found.runtime, connection.url);
    this.#deletesRuntime = found.wasCreated && options.deleteRuntime === true;
    this.#place = {
      connection,
      runtime,
      policy,
      settleMs,
      files: new RuntimeFiles(connection, runtime, policy),
      onClosed: (session) => this.#open.delete(session),
    };
  }

  async openSession(options: { signal?: AbortSignal } = {}): Promise<Session> {
    if (this.#closing !== undefined) throw closedError('The sandbox');
    const opening = ColabSession.open(this.#place, options.signal);
    this.#opening.add(opening);
    try {
      const session = await opening;
      this.#open.add(session);
      return session;
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

  /** Deletes what we opened, then leaves; what cannot be deleted is reported once all was tried. */
  async #close(): Promise<void> {
    await Promise.allSettled(this.#opening);
    const closed = await Promise.allSettled([...this.#open].map((session) => session.close()));
    try {
      if (this.#deletesRuntime) await this.#deleteRuntime();
    } finally {
      await this.#place.connection.close();
    }
    const failed = closed.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #deleteRuntime(): Promise<void> {
    const { connection, policy, runtime } = this.#place;
    using limit = linkSignal(undefined, DELETE_RUNTIME_MS);
    const options = { policy, signal: limit.signal, on: runtime };
    await callSafely(connection, 'delete_runtime', { name: runtime }, z.unknown(), options);
  }
}

function describe(runtime: Runtime, url: string): string {
  const accelerator = runtime.runtimeSpec?.accelerator ?? 'NONE';
  const machine = accelerator === 'NONE' ? 'no accelerator' : accelerator;
  const version = runtime.version === '' ? '' : `, ${runtime.version}`;
  return `Colab runtime ${runtime.name} (${machine}${version}) on ${new URL(url).host}`;
}
