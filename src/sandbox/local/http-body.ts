import type { IncomingMessage, ServerResponse } from 'node:http';

/** The whole body as text, or undefined where it is longer than allowed. */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  // The connection must outlive a body that is cut short, as the refusal goes out on it.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > maxBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}
