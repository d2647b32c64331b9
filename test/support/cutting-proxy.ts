import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** Stands between a client and a server on this machine and breaks their connections at will. */
export class CuttingProxy implements AsyncDisposable {
  url = '';
  /** Connections broken so far. */
  cuts = 0;
  readonly #target: URL;
  readonly #pairs = new Set<() => void>();
  #swallow: RegExp | undefined;
  readonly #server = createServer((client) => {
    this.#join(client);
  });

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    const { port } = proxy.#server.address() as AddressInfo;
    proxy.url = `http://127.0.0.1:${port}${proxy.#target.pathname}`;
    return proxy;
  }

  /** Breaks every connection there is; new ones work. */
  cut(): void {
    for (const breakPair of this.#pairs) breakPair();
  }

  /** Swallows the next answer that matches, which the server thinks delivered, and breaks its connection. */
  swallowAnswer(pattern: RegExp): void {
    this.#swallow = pattern;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    const breakPair = (): void => {
      if (!this.#pairs.delete(breakPair)) return;
      this.cuts += 1;
      client.destroy();
      server.destroy();
    };
    this.#pairs.add(breakPair);
    for (const socket of [client, server]) socket.on('error', breakPair).on('close', breakPair);
    client.pipe(server);
    server.on('data', (bytes: Buffer) => {
      if (this.#swallow?.test(bytes.toString('latin1')) !== true) {
        client.write(bytes);
        return;
      }
      this.#swallow = undefined;
      // The server's side stays open until it has written everything.
      server.on('data', () => undefined);
      client.destroy();
    });
  }
}
