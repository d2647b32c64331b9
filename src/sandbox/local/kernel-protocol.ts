import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/**
 * Jupyter's messages on a kernel's websocket in the framing `v1.kernel.websocket.jupyter.org`: a count of offsets, the
 * offsets (all 64-bit little endian), then channel, header, parent header, metadata, content and buffers.
 * https://jupyter-server.readthedocs.io/en/latest/developers/websocket-protocols.html
 */
export const SUBPROTOCOL = 'v1.kernel.websocket.jupyter.org';

const OFFSET_BYTES = 8;
const PROTOCOL_VERSION = '5.3';

export interface KernelMessage {
  channel: string;
  type: string;
  /** Id of the request this message belongs to; absent where it belongs to none. */
  requestId: string | undefined;
  content: unknown;
}

const HeaderSchema = z.looseObject({ msg_type: z.string() });
const ParentHeaderSchema = z.looseObject({ msg_id: z.string().optional() });

export const StreamSchema = z.looseObject({
  name: z.enum(['stdout', 'stderr']),
  text: z.string(),
});
export const ExecuteResultSchema = z.looseObject({
  data: z.looseObject({ 'text/plain': z.string().optional() }),
});
export const StatusSchema = z.looseObject({
  execution_state: z.string(),
  /** How the kernel died, where it did. */
  reason: z.string().optional(),
});
export const ExecuteReplySchema = z.looseObject({
  status: z.string(),
  execution_count: z.number().nullish(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
  traceback: z.array(z.string()).optional(),
});
export type ExecuteReply = z.infer<typeof ExecuteReplySchema>;

export function executeRequest(code: string, clientId: string): { id: string; frame: Buffer } {
  const id = randomUUID();
  const header = {
    msg_id: id,
    msg_type: 'execute_request',
    session: clientId,
    username: '',
    date: new Date().toISOString(),
    version: PROTOCOL_VERSION,
  };
  const content = {
    code,
    silent: false,
    store_history: true,
    user_expressions: {},
    allow_stdin: false,
    stop_on_error: false,
  };
  return { id, frame: encodeFrame('shell', [header, {}, {}, content]) };
}

export function encodeFrame(channel: string, parts: unknown[]): Buffer {
  const pieces = [Buffer.from(channel), ...parts.map((part) => Buffer.from(JSON.stringify(part)))];
  const head = Buffer.alloc(OFFSET_BYTES * (pieces.length + 2));
  head.writeBigUInt64LE(BigInt(pieces.length + 1), 0);
  let offset = head.length;
  [...pieces, Buffer.alloc(0)].forEach((piece, index) => {
    head.writeBigUInt64LE(BigInt(offset), OFFSET_BYTES * (index + 1));
    offset += piece.length;
  });
  return Buffer.concat([head, ...pieces]);
}

export function decodeFrame(frame: Buffer): KernelMessage {
  const offset = (index: number): number =>
    Number(frame.readBigUInt64LE(OFFSET_BYTES * (index + 1)));
  const piece = (index: number): string => frame.toString('utf8', offset(index), offset(index + 1));
  return {
    channel: piece(0),
    type: HeaderSchema.parse(JSON.parse(piece(1))).msg_type,
    requestId: ParentHeaderSchema.parse(JSON.parse(piece(2))).msg_id,
    content: JSON.parse(piece(4)) as unknown,
  };
}
