import { ProxyTokens } from './proxy-tokens.js';
import { randomResourceId } from './resource-names.js';
import type { JupyterRuntime } from './runtime.js';
import { isSameSpec, type RuntimeSpecKey } from './runtime-specs.js';
import { SessionExecutions, type SessionExecutionsOptions } from './session-executions.js';
import { StatusError } from './status.js';

export interface RuntimeRequest {
  spec: RuntimeSpecKey;
  runtimeId?: string | undefined;
  /** Makes the call idempotent. */
  requestId?: string | undefined;
}

export interface RuntimeRegistryOptions {
  startRuntime: (options: { signal: AbortSignal }) => Promise<JupyterRuntime>;
  /** What this machine offers. */
  specs: () => Promise<RuntimeSpecKey[]>;
  maxRuntimes: number;
  proxyTokenLifetimeMs: number;
  now: () => number;
  executions: Omit<SessionExecutionsOptions, 'openKernel'>;
}

/** One running runtime and its sessions. */
export class RegisteredRuntime {
  readonly name: string;
  readonly spec: RuntimeSpecKey;
  readonly jupyter: JupyterRuntime;
  readonly proxyTokens: ProxyTokens;
  readonly #executions: Omit<SessionExecutionsOptions, 'openKernel'>;
  readonly #sessions = new Map<string, SessionExecutions>();

  constructor(
    id: string,
    spec: RuntimeSpecKey,
    jupyter: JupyterRuntime,
    options: Pick<RuntimeRegistryOptions, 'executions' | 'now' | 'proxyTokenLifetimeMs'>,
  ) {
    this.name = `runtimes/${id}`;
    this.spec = spec;
    this.jupyter = jupyter;
    this.#executions = options.executions;
    this.proxyTokens = new ProxyTokens({
      lifetimeMs: options.proxyTokenLifetimeMs,
      now: options.now,
    });
  }

  /** The executions of a session, which need not be open. */
  session(sessionId: string): SessionExecutions {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const session = new SessionExecutions({
      ...this.#executions,
      openKernel: () => this.jupyter.openSession(sessionId),
    });
    this.#sessions.set(sessionId, session);
    return session;
  }

  /** Create-or-get. */
  async openSession(sessionId: string): Promise<void> {
    await this.session(sessionId).exclusively(() => this.jupyter.openSession(sessionId));
  }

  async deleteSession(sessionId: string): Promise<void> {
    const session = this.session(sessionId);
    session.abort(
      new StatusError('NOT_FOUND', `${this.name}/sessions/${sessionId} was deleted.`, {
        reason: 'SESSION_DELETED',
      }),
    );
    try {
      await session.exclusively(() => this.jupyter.deleteSession(sessionId));
    } finally {
      if (session.isIdle) this.#sessions.delete(sessionId);
    }
  }

  abortExecutions(error: StatusError): void {
    for (const session of this.#sessions.values()) session.abort(error);
  }
}

/** The runtimes of this server. One whose process has ended is gone from here. */
export class RuntimeRegistry {
  readonly #options: RuntimeRegistryOptions;
  readonly #runtimes = new Map<string, RegisteredRuntime>();
  readonly #starting = new Map<string, Promise<RegisteredRuntime>>();
  readonly #byRequestId = new Map<string, { asked: string; runtime: Promise<RegisteredRuntime> }>();
  readonly #closing = new AbortController();

  constructor(options: RuntimeRegistryOptions) {
    this.#options = options;
  }

  /** Waits until the runtime is ready. The same requestId gets the same runtime, also while it is being started. */
  create(request: RuntimeRequest): Promise<RegisteredRuntime> {
    const { requestId } = request;
    if (requestId === undefined) return this.#start(request);
    const asked = JSON.stringify([request.spec, request.runtimeId]);
    const known = this.#byRequestId.get(requestId);
    if (known !== undefined && known.asked !== asked)
      throw new StatusError(
        'INVALID_ARGUMENT',
        `requestId ${requestId} was used for a different runtime: use a new UUID for each runtime wanted.`,
      );
    if (known !== undefined) return known.runtime;
    const runtime = this.#start(request);
    this.#byRequestId.set(requestId, { asked, runtime });
    // After a failed start, or the runtime's end, the same call may try again.
    void runtime
      .then(({ jupyter }) => jupyter.exited)
      .catch(() => undefined)
      .finally(() => this.#byRequestId.delete(requestId));
    return runtime;
  }

  get(name: string): RegisteredRuntime {
    const runtime = this.#runtimes.get(name);
    if (runtime === undefined)
      throw new StatusError(
        'NOT_FOUND',
        `${name} does not exist or has ended. See list_runtimes; if there is none, create one with create_runtime.`,
      );
    return runtime;
  }

  list(): RegisteredRuntime[] {
    return [...this.#runtimes.values()];
  }

  async delete(name: string): Promise<void> {
    const runtime = this.get(name);
    this.#forget(
      runtime,
      new StatusError('NOT_FOUND', `${name} was deleted.`, { reason: 'RUNTIME_DELETED' }),
    );
    await runtime.jupyter.close();
  }

  /** Ends every runtime, those that are still starting included. */
  async close(): Promise<void> {
    this.#closing.abort(new StatusError('UNAVAILABLE', 'The server is shutting down.'));
    await Promise.allSettled(this.#starting.values());
    const results = await Promise.allSettled(this.list().map(({ name }) => this.delete(name)));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  async #start({ spec, runtimeId }: RuntimeRequest): Promise<RegisteredRuntime> {
    const id = runtimeId ?? `r-${randomResourceId()}`;
    this.#checkRoomFor(id);
    const starting = this.#launch(id, spec);
    this.#starting.set(`runtimes/${id}`, starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(`runtimes/${id}`);
    }
  }

  #checkRoomFor(id: string): void {
    const name = `runtimes/${id}`;
    if (this.#closing.signal.aborted) throw this.#closing.signal.reason as Error;
    if (this.#runtimes.has(name) || this.#starting.has(name))
      throw new StatusError('ALREADY_EXISTS', `${name} exists already.`);
    if (this.#runtimes.size + this.#starting.size >= this.#options.maxRuntimes)
      throw new StatusError(
        'FAILED_PRECONDITION',
        `${this.#options.maxRuntimes} runtimes are active, as many as this server allows: use one of list_runtimes.`,
        { reason: 'TOO_MANY_ACTIVE_RUNTIMES' },
      );
  }

  async #launch(id: string, spec: RuntimeSpecKey): Promise<RegisteredRuntime> {
    const offered = await this.#options.specs();
    if (!offered.some((offer) => isSameSpec(offer, spec)))
      throw new StatusError(
        'FAILED_PRECONDITION',
        `This machine has no ${describe(spec)}; it offers ${offered.map(describe).join(', ')}.`,
        { reason: 'SPEC_UNAVAILABLE' },
      );
    const jupyter = await this.#options.startRuntime({ signal: this.#closing.signal });
    const runtime = new RegisteredRuntime(id, spec, jupyter, this.#options);
    this.#runtimes.set(runtime.name, runtime);
    void jupyter.exited.then((reason) => {
      this.#forget(
        runtime,
        new StatusError('NOT_FOUND', `${runtime.name} has ended: ${reason}`, {
          reason: 'RUNTIME_ENDED',
        }),
      );
    });
    return runtime;
  }

  #forget(runtime: RegisteredRuntime, error: StatusError): void {
    if (this.#runtimes.get(runtime.name) !== runtime) return;
    this.#runtimes.delete(runtime.name);
    runtime.abortExecutions(error);
  }
}

function describe({ variant, accelerator, shape }: RuntimeSpecKey): string {
  return [variant, accelerator, shape].join(' ');
}
