import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { TLSSocket } from 'node:tls';

/** What a client asked of the proxy. */
export interface Tunnel {
  /** `host:port`. */
  target: string;
  authorization: string | undefined;
}

export interface TunnelProxyOptions {
  /** Where every tunnel ends, whatever host it is for. */
  upstreamUrl: string;
  /** Refuse every tunnel with this HTTP status. */
  refuseWith?: number;
}

/**
 * An HTTP proxy on loopback that grants tunnels (CONNECT). It ends TLS itself, under a certificate of its own making, so
 * that a plain server on loopback can stand for an https host anywhere. Clients must be told to trust any certificate.
 */
export class TunnelProxy implements AsyncDisposable {
  readonly tunnels: Tunnel[] = [];
  url = '';
  readonly #sockets = new Set<Duplex>();
  readonly #server = createServer((_request, response) => {
    response.writeHead(405).end();
  });

  private constructor(options: TunnelProxyOptions) {
    this.#server.on('connect', (request, socket) => {
      this.#grant(request, socket, options);
    });
  }

  static async start(options: TunnelProxyOptions): Promise<TunnelProxy> {
    const proxy = new TunnelProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await closed;
  }

  #grant(request: IncomingMessage, socket: Duplex, options: TunnelProxyOptions): void {
    const target = request.url ?? '';
    this.tunnels.push({ target, authorization: request.headers['proxy-authorization'] });
    if (options.refuseWith !== undefined) {
      socket.end(`HTTP/1.1 ${options.refuseWith} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const isTls = target.endsWith(':443');
    const client = isTls ? new TLSSocket(socket, { isServer: true, ...TLS_PAIR }) : socket;
    const upstream = connect(Number(new URL(options.upstreamUrl).port), '127.0.0.1');
    for (const end of [socket, client, upstream]) {
      this.#sockets.add(end);
      end.on('error', () => undefined);
    }
    pipeline(client, upstream, client, () => undefined);
  }
}

/** Made for these tests; it opens nothing. */
const TLS_PAIR = {
  key: `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIK2n+Wim2lqEMzXuwPL+IIcV2K1aiolu0+j65Pyr5kHqoAoGCCqGSM49
AwEHoUQDQgAEps1g681RDDDvKdhFZr75QVFPE9tXZyqyHUW9xWwa75zWRYqv6hjg
ScZTm+CfO2PP+aSKycOuVeVGfDhZ9X5Opw==
-----END EC PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBlzCCAT2gAwIBAgIUOtX4wDzASw0xe9mhfSaE0Hi0pDQwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKcHJveHkgdGVzdDAgFw0yNjExMzAyMTQ4MjVaGA8yMTI2MTEw
NjIxNDgyNVowFTETMBEGA1UEAwwKcHJveHkgdGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABKbNYOvNUQww7ynYRWa++UFRTxPbV2cqsh1FvcVsGu+c1kWKr+oY
4EnGU5vgnztjz/mkisnDrlXlRnw4WfV+TqejaTBnMB0GA1UdDgQWBBQciZSU3bhC
uGy/ma0ifRq+G7sjaTAfBgNVHSMEGDAWgBQciZSU3bhCuGy/ma0ifRq+G7sjaTAP
BgNVHRMBAf8EBTADAQH/MBQGA1UdEQQNMAuCCSouZXhhbXBsZTAKBggqhkjOPQQD
AgNIADBFAiEA/cqewWAVtk/5mi5lG8yCgmQzYXffEIuedwXFz2+P/AcCIB61jwqY
JflXhkiE9CF0EpHiu3LvJkCzELo8x8UM+GN8
-----END CERTIFICATE-----`,
};
