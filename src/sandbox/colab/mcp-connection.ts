import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import { linkSignal } from '../../abort.js';
import { closedError } from '../sandbox-errors.js';
import type { Failure } from '../failure.js';
import { FailedCall, readFailure, ToolRefusal } from '../failure.js';
import type { TransportOptions } from './mcp-transport.js';
import { McpTransport } from './mcp-transport.js';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Gets the `params` of each progress notification of this call. */
  onProgress?: ((params: ProgressParams) => void) | undefined;
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
  readonly #options: TransportOptions;
  readonly #listeners = new Map<string, (params: ProgressParams) => void>();
  #link: Promise<Link> | undefined;
  #isClosed = false;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url.href;
  }

  /**
   * The tool's result as the server gave it, neither checked nor trimmed.
   * @throws {FailedCall}, or the signal's reason once the server has been told to cancel.
   */
  async callTool(tool: string, args: object, options: CallOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      let link: Link | undefined;
      try {
        link = await this.#connected(options.signal);
        return payloadOf(await this.#request(link, tool, args, options));
      } catch (error) {
        options.signal?.throwIfAborted();
        const failure = readFailure(error);
        if (attempt > 1 || !(await this.#mend(failure, link))) throw new FailedCall(failure);
      }
    }
  }

  /** Leaves the server; scripts that run there go on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const opened = await link.catch(() => undefined);
    await opened?.client.close();
  }

  #connected(signal: AbortSignal | undefined): Promise<Link> {
    if (this.#isClosed) throw closedError(`The connection to ${this.url}`);
    if (this.#link === undefined) {
      const opening = this.#open(signal);
      this.#link = opening;
      opening.catch(() => {
        if (this.#link === opening) this.#link = undefined;
      });
    }
    return this.#link;
  }

  async #open(signal: AbortSignal | undefined): Promise<Link> {
    const transport = new McpTransport(this.#options);
    const client = new Client(CLIENT_INFO, { capabilities: {} });
    transport.onmessage = (message): void => {
      if ('method' in message && message.method === 'notifications/progress') {
        this.#onProgress(message.params);
      }
    };
    using linked = linkSignal(signal);
    await client.connect(transport, { signal: linked.signal, timeout: HANDSHAKE_MS });
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
    try {
      return await link.client.request(
        {
          method: 'tools/call',
          params: { name: tool, arguments: { ...args }, _meta: { progressToken } },
        },
        ToolResultSchema,
        { signal: linked.signal, timeout: NO_TIMEOUT_MS },
      );
    } catch (error) {
      if (linked.signal.aborted) await link.transport.cancellationsDelivered();
      throw error;
    } finally {
      this.#listeners.delete(progressToken);
    }
  }

  /** Refusals that came before anything ran: an expired token, an expired MCP session. */
  async #mend(failure: Failure, link: Link | undefined): Promise<boolean> {
    if (failure.status === 'UNAUTHENTICATED' && this.#options.signIn.refresh !== undefined) {
      await this.#options.signIn.refresh();
      return true;
    }
    if (failure.httpStatus === 404 && link?.transport.sessionId !== undefined) {
      await this.#drop(link);
      return true;
    }
    return false;
  }

  async #drop(link: Link): Promise<void> {
    if ((await this.#link?.catch(() => undefined)) !== link) return;
    this.#link = undefined;
    delete link.transport.sessionId;
    await link.client.close();
  }
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
