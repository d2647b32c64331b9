import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { abortable, linkSignal } from '../../abort.js';
import { ColabSolverError } from '../../errors.js';
import type { RetryPolicy } from '../../retry.js';
import { closedError } from '../sandbox-errors.js';
import type { Failure } from '../failure.js';
import { FailedCall, readFailure, ToolRefusal } from '../failure.js';
import type { TransportOptions } from './mcp-transport.js';
import { McpTransport } from './mcp-transport.js';
import type { RateLimiter } from './rate-limiter.js';
import { limiterFor } from './rate-limiter.js';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Gets the `params` of each progress notification of this call. */
  onProgress?: ((params: ProgressParams) => void) | undefined;
  /** Called when the request is handed to the transport; until then nothing of it can have run. */
  onSend?: (() => void) | undefined;
}

export interface ConnectionOptions extends TransportOptions {
  /** How long a refusal for the rate of calls makes all calls wait. Default as for retries. */
  policy?: RetryPolicy | undefined;
}

const ProgressSchema = z.looseObject({
  progressToken: z.union([z.string(), z.number()]),
  message: z.string().optional().catch(undefined),
  _meta: z.looseObject({}).optional().catch(undefined),
});
export type ProgressParams = z.infer<typeof ProgressSchema>;

const ToolResultSchema = z.looseObject({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).optional(),
});
type ToolResult = z.infer<typeof ToolResultSchema>;

/** The longest time-out a timer takes: we keep our own deadlines, since the SDK's would interrupt the script. */
const NO_TIMEOUT_MS = 2_147_483_647;
const HANDSHAKE_MS = 60_000;
const CLIENT_INFO = { name: 'colab-solver', version: '0.1.0' };

interface Link {
  client: Client;
  transport: McpTransport;
}

/** Calls the tools of one Colab MCP server; signs in afresh and reconnects where that mends a refused call. */
export class McpConnection {
  /** Shared by all connections to the endpoint. */
  readonly limiter: RateLimiter;
  readonly #options: ConnectionOptions;
  readonly #listeners = new Map<string, (params: ProgressParams) => void>();
  readonly #stop = new AbortController();
  #link: Promise<Link> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.limiter = limiterFor(options.url, options.policy);
  }

  get url(): string {
    return this.#options.url.href;
  }

  /**
   * The tool's result as the server gave it, neither checked nor trimmed.
   * @throws {FailedCall}, {@link ColabSolverError} where we are signed out, misconfigured or closed, or the signal's reason once the server has
   * been told to cancel.
   */
  async callTool(tool: string, args: object, options: CallOptions = {}): Promise<unknown> {
    const mended = new Set<Mending>();
    for (;;) {
      const link = await this.#connected(mended, options.signal);
      try {
        return await this.limiter.run(async () => {
          options.onSend?.();
          return payloadOf(await this.#request(link, tool, args, options));
        }, options.signal);
      } catch (error) {
        options.signal?.throwIfAborted();
        await this.#mend(error, link, mended);
      }
    }
  }

  /** Makes a call only to cancel it; for work that goes on there without a call of ours. */
  async cancelTool(tool: string, args: object): Promise<void> {
    const link = await this.#connected(new Set(), undefined);
    const cancelling = new AbortController();
    const call = this.#request(link, tool, args, { signal: cancelling.signal });
    cancelling.abort();
    // It rejects for being cancelled, or since the server is out of reach; the caller looks what came of it.
    await call.catch(() => undefined);
  }

  /** Leaves the server; scripts that run there go on. */
  async close(): Promise<void> {
    this.#stop.abort(closedError(`The connection to ${this.url}`));
    const link = await this.#link?.catch(() => undefined);
    this.#link = undefined;
    await link?.client.close();
  }

  async #connected(mended: Set<Mending>, signal: AbortSignal | undefined): Promise<Link> {
    for (;;) {
      this.#stop.signal.throwIfAborted();
      this.#link ??= this.#open();
      try {
        return await abortable(this.#link, signal);
      } catch (error) {
        signal?.throwIfAborted();
        this.#stop.signal.throwIfAborted();
        await this.#mend(error, undefined, mended);
      }
    }
  }

  #open(): Promise<Link> {
    const opening = this.#handshake();
    opening.catch(() => {
      if (this.#link === opening) this.#link = undefined;
    });
    return opening;
  }

  async #handshake(): Promise<Link> {
    const transport = new McpTransport(this.#options);
    const client = new Client(CLIENT_INFO, { capabilities: {} });
    transport.onprogress = (params): void => {
      this.#onProgress(params);
    };
    using linked = linkSignal(this.#stop.signal);
    const options = { signal: linked.signal, timeout: HANDSHAKE_MS };
    await this.limiter.run(() => client.connect(transport, options), linked.signal);
    return { client, transport };
  }

  #onProgress(params: unknown): void {
    const progress = ProgressSchema.safeParse(params);
    if (progress.success) this.#listeners.get(String(progress.data.progressToken))?.(progress.data);
  }

  /** The signal handed to the SDK is this call's own: the SDK never stops listening to the one it gets. */
  async #request(
    link: Link,
    tool: string,
    args: object,
    options: CallOptions,
  ): Promise<ToolResult> {
    const progressToken = crypto.randomUUID();
    if (options.onProgress !== undefined) this.#listeners.set(progressToken, options.onProgress);
    using linked = linkSignal(options.signal);
    const params = { name: tool, arguments: { ...args }, _meta: { progressToken } };
    try {
      return await link.client.request({ method: 'tools/call', params }, ToolResultSchema, {
        signal: linked.signal,
        timeout: NO_TIMEOUT_MS,
      });
    } catch (error) {
      if (linked.signal.aborted) await link.transport.cancellationsDelivered();
      throw error;
    } finally {
      this.#listeners.delete(progressToken);
    }
  }

  /** Returns where the call may be made once more: it was refused before anything ran, and the cause is mended. */
  async #mend(error: unknown, link: Link | undefined, mended: Set<Mending>): Promise<void> {
    const cause = causeOf(error);
    if (cause instanceof ColabSolverError) throw cause;
    const failure = readFailure(cause);
    const mending = mendingFor(failure, link);
    if (mending === undefined || mended.has(mending)) throw new FailedCall(failure);
    mended.add(mending);
    if (mending === 'reconnect') await this.#drop(link);
    else if (this.#options.signIn.refresh === undefined) throw new FailedCall(failure);
    else this.#options.signIn.refresh();
  }

  async #drop(link: Link | undefined): Promise<void> {
    if (link === undefined || (await this.#link?.catch(() => undefined)) !== link) return;
    this.#link = undefined;
    // Nothing to say goodbye to: the server has forgotten the session.
    delete link.transport.sessionId;
    await link.client.close();
  }
}

type Mending = 'sign-in' | 'reconnect';

function mendingFor(failure: Failure, link: Link | undefined): Mending | undefined {
  if (failure.status === 'UNAUTHENTICATED') return 'sign-in';
  const isExpired = failure.httpStatus === 404 && link?.transport.sessionId !== undefined;
  return isExpired ? 'reconnect' : undefined;
}

/** Our transport hands its failures on inside the SDK's error. */
function causeOf(error: unknown): unknown {
  return error instanceof McpError && error.data instanceof Error ? error.data : error;
}

function payloadOf(result: ToolResult): unknown {
  const text = result.content?.map((item) => item.text ?? '').join('\n') ?? '';
  if (result.isError === true) throw new ToolRefusal(text, result);
  if (result.structuredContent !== undefined) return result.structuredContent;
  const first = result.content?.find((item) => item.type === 'text')?.text;
  if (first === undefined || first.trim() === '') return {};
  try {
    return JSON.parse(first);
  } catch {
    throw new ToolRefusal(first, result);
  }
}
