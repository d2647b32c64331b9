import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { InternalError, SandboxError } from '../../errors.js';
import type { JupyterApi } from './jupyter-api.js';
import { StatusSchema, decodeFrame } from './kernel-protocol.js';
import type { KernelMessage } from './kernel-protocol.js';
import { KernelRequest } from './kernel-request.js';
import { openKernelSocket } from './kernel-socket.js';
import type { Kernel, KernelReply, OutputListener } from './runtime.js';

/** How often a silent kernel is asked after while a script runs. */
const CHECK_INTERVAL_MS = 5_000;
/** So many silent checks in a row that find the kernel idle mean that our request is lost. */
const IDLE_CHECKS = 2;

const KernelModelSchema = z.looseObject({ execution_state: z.string().optional() });

export interface ConnectOptions {
  api: JupyterApi;
  kernelId: string;
  signal?: AbortSignal | undefined;
}

export async function connectKernel(options: ConnectOptions): Promise<KernelConnection> {
  const clientId = randomUUID();
  const stream = await openKernelSocket({ ...options, clientId });
  return new KernelConnection(options.api, options.kernelId, clientId, stream);
}

/** A kernel and the websocket to it; whichever ends first, the session is lost. */
export class KernelConnection implements Kernel {
  readonly kernelId: string;
  readonly #api: JupyterApi;
  readonly #clientId: string;
  readonly #stream: Duplex;
  #request: KernelRequest | undefined;
  #lost: SandboxError | undefined;
  #messagesSeen = 0;
  #isHandling = false;

  constructor(api: JupyterApi, kernelId: string, clientId: string, stream: Duplex) {
    this.#api = api;
    this.kernelId = kernelId;
    this.#clientId = clientId;
    this.#stream = stream;
    void this.#read();
  }

  /** True once the kernel is known to be gone. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  async execute(code: string, onOutput: OutputListener): Promise<KernelReply> {
    if (this.#lost) throw this.#lost;
    if (this.#request) throw new InternalError(`Two scripts at once on kernel ${this.kernelId}.`);
    const request = new KernelRequest(code, this.#clientId, onOutput);
    this.#request = request;
    const watch = this.#watch(request);
    try {
      this.#stream.write(request.frame);
      return await request.done;
    } finally {
      clearInterval(watch);
      this.#request = undefined;
    }
  }

  async interrupt(): Promise<void> {
    const request = this.#request;
    if (request === undefined) return;
    await request.started.catch(() => undefined);
    if (this.#request !== request || this.#lost) return;
    await this.#api.call('POST', `/api/kernels/${this.kernelId}/interrupt`);
    request.markInterrupted();
  }

  /** Ends the connection; a script that still runs fails with `SESSION_LOST` for the reason given. */
  close(reason: string): void {
    this.#lose(this.#lossBecause(reason));
  }

  /** Goes on until the kernel or the connection is lost; never rejects. */
  async #read(): Promise<void> {
    let cause: unknown;
    try {
      for await (const frame of this.#stream) await this.#handle(decodeFrame(frame as Buffer));
    } catch (error) {
      cause = error;
    }
    const state = await this.#findState();
    // Jupyter would let us back in, but not repeat what was under way when the connection broke.
    const isGone = state instanceof SandboxError;
    this.#lose(isGone ? state : this.#lossBecause('the connection to it broke', cause));
  }

  async #handle(message: KernelMessage): Promise<void> {
    this.#messagesSeen += 1;
    this.#isHandling = true;
    try {
      const death = deathNotice(message);
      if (death !== undefined) this.#lose(this.#lossBecause(death));
      else if (message.requestId === this.#request?.id) await this.#request?.handle(message);
    } finally {
      this.#isHandling = false;
    }
  }

  /** Jupyter does not tell of every end a kernel can come to, so one that stays silent is asked after. */
  #watch(request: KernelRequest): NodeJS.Timeout {
    let idleChecks = 0;
    let seen = this.#messagesSeen;
    let isChecking = false;
    const check = async (): Promise<void> => {
      const state = await this.#findState();
      isChecking = false;
      if (this.#request !== request) return;
      idleChecks = state === 'idle' && seen === this.#messagesSeen ? idleChecks + 1 : 0;
      if (state instanceof SandboxError) this.#lose(state);
      else if (idleChecks === IDLE_CHECKS) this.#lose(this.#lossBecause('it lost the request'));
    };
    return setInterval(() => {
      const isSilent = seen === this.#messagesSeen && !this.#isHandling;
      seen = this.#messagesSeen;
      if (!isSilent) idleChecks = 0;
      if (!isSilent || isChecking) return;
      isChecking = true;
      void check();
    }, CHECK_INTERVAL_MS);
  }

  /** The kernel's state as Jupyter has it, or the error to end with where it is gone. */
  async #findState(): Promise<string | SandboxError> {
    if (this.#lost) return this.#lost;
    let response;
    try {
      response = await this.#api.call('GET', `/api/kernels/${this.kernelId}`);
    } catch (cause) {
      return this.#lossBecause('its runtime has ended', cause);
    }
    if (response.status === 404) return this.#lossBecause('it was ended');
    const { execution_state: state } = KernelModelSchema.parse(response.json);
    return state === 'dead' ? this.#lossBecause('it died') : (state ?? 'unknown');
  }

  #lossBecause(reason: string, cause?: unknown): SandboxError {
    return new SandboxError(
      'SESSION_LOST',
      `The Python session is gone with its variables: ${reason}. Open a new session.`,
      { cause },
    );
  }

  #lose(error: SandboxError): void {
    if (this.#lost) return;
    this.#lost = error;
    this.#request?.fail(error);
    this.#stream.destroy();
  }
}

/** Jupyter's word that the kernel ended or starts anew; either way its variables are gone. */
function deathNotice(message: KernelMessage): string | undefined {
  if (message.type === 'shutdown_reply') return 'it was shut down';
  if (message.type !== 'status') return undefined;
  const { execution_state: state, reason } = StatusSchema.parse(message.content);
  if (state === 'dead') return reason ?? 'it died';
  return state === 'restarting' || state === 'autorestarting' ? 'it was restarted' : undefined;
}
