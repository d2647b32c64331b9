import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A silent connection gets a sign of life this often, so that no proxy or client takes it for dead. */
const KEEP_ALIVE_MS = 15_000;

/** What the client can read: a stream of events, or one JSON text without progress. */
export type ReplyFormat = 'event-stream' | 'json';

/** Undefined where the client takes neither. */
export function acceptedFormat(request: IncomingMessage): ReplyFormat | undefined {
  const types = (request.headers.accept ?? '*/*')
    .split(',')
    .map((type) => type.split(';')[0]?.trim());
  if (types.includes('text/event-stream')) return 'event-stream';
  return types.some((type) => type !== undefined && JSON_TYPES.has(type)) ? 'json' : undefined;
}

const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);

/** The answer to one call: its head goes out at once, then notifications, then the final message. */
export class Reply implements Disposable {
  readonly #response: ServerResponse;
  readonly #format: ReplyFormat;
  readonly #keepAlive: NodeJS.Timeout;

  constructor(response: ServerResponse, format: ReplyFormat) {
    this.#response = response;
    this.#format = format;
    response.writeHead(200, {
      'content-type': format === 'json' ? 'application/json' : 'text/event-stream',
      'cache-control': 'no-store, no-transform',
    });
    response.flushHeaders();
    this.#keepAlive = setInterval(() => {
      if (this.#isWritable && !response.writableNeedDrain)
        response.write(format === 'json' ? '\n' : ': still working\n\n');
    }, KEEP_ALIVE_MS);
  }

  get canNotify(): boolean {
    return this.#format === 'event-stream';
  }

  /** Sends a message, then waits while the connection is full; rejects with the signal's reason. */
  async notify(message: object, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isWritable) return;
    this.#keepAlive.refresh();
    if (this.#response.write(this.#frame(message))) return;
    await once(this.#response, 'drain', { signal }).catch(() => {
      signal.throwIfAborted();
    });
  }

  /** Sends the final message; true once all of it has been handed to the operating system, false if the client has gone. */
  async finish(message: object): Promise<boolean> {
    clearInterval(this.#keepAlive);
    if (!this.#isWritable) return false;
    const { socket } = this.#response;
    let isDelivered = false;
    // `writableFinished` will not do: it is true as well where the connection broke off.
    this.#response.prependOnceListener('finish', () => {
      isDelivered = socket?.destroyed === false;
    });
    const closed = once(this.#response, 'close');
    this.#response.end(this.#frame(message));
    await closed.catch(() => undefined);
    return isDelivered;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#keepAlive);
  }

  get #isWritable(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  #frame(message: object): string {
    const json = JSON.stringify(message);
    return this.#format === 'json' ? json : `event: message\ndata: ${json}\n\n`;
  }
}
