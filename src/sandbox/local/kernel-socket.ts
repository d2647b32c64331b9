import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, createWebSocketStream } from 'ws';
import type { JupyterApi } from './jupyter-api.js';
import { SUBPROTOCOL } from './kernel-protocol.js';

/** Messages read ahead of a slow consumer; the rest waits in the socket. */
const MESSAGES_AHEAD = 16;
/** A single value's text may be large; printed text comes in small pieces. */
const MAX_MESSAGE_BYTES = 1024 ** 3;

export interface KernelSocketOptions {
  api: JupyterApi;
  kernelId: string;
  clientId: string;
  signal?: AbortSignal | undefined;
}

/** A kernel's channels as a stream of whole messages; it rejects where the server refuses or is gone. */
export async function openKernelSocket(options: KernelSocketOptions): Promise<Duplex> {
  const { api, kernelId, clientId, signal } = options;
  const url = `ws://localhost/api/kernels/${kernelId}/channels?session_id=${clientId}`;
  const socket = new WebSocket(url, SUBPROTOCOL, {
    // Over TCP the server would need Nagle's algorithm switched off; a unix socket has none. A path can hold what a URL
    // cannot.
    createConnection: () => connect(api.socketPath),
    headers: { authorization: `token ${api.token}` },
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
  });
  try {
    await once(socket, 'open', { signal });
  } catch (error) {
    // Ending a socket that is still connecting reports an error of its own.
    socket.once('error', () => undefined).terminate();
    signal?.throwIfAborted();
    throw error;
  }
  const stream = createWebSocketStream(socket, {
    readableObjectMode: true,
    readableHighWaterMark: MESSAGES_AHEAD,
  });
  // Whoever reads is told by the iterator; between two reads nobody listens.
  return stream.on('error', () => undefined);
}
