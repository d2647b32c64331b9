import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

/**
 * MCP as of 2026-07-28 knows neither handshake nor session: every request says of itself what a handshake said before.
 * A server of that time refuses `initialize`; then we go on without.
 */
const VERSION = '2026-07-28';

/** Method not found; header mismatch; missing capability; unsupported version. */
const REFUSALS: ReadonlySet<number> = new Set([-32_601, -32_020, -32_021, -32_022]);

const META = 'io.modelcontextprotocol';
const CLIENT = {
  [`${META}/protocolVersion`]: VERSION,
  [`${META}/clientInfo`]: { name: 'colab-solver', version: '0.1.0' },
  [`${META}/clientCapabilities`]: {},
};

/** In place of the server's answer to `initialize`. */
export const HANDSHAKE_RESULT = {
  protocolVersion: LATEST_PROTOCOL_VERSION,
  capabilities: { tools: {} },
  serverInfo: { name: 'stateless', version: VERSION },
};

const RefusalSchema = z.looseObject({ error: z.looseObject({ code: z.number() }) });

/** True where an answer to `initialize`, or the body of an HTTP refusal of it, says that there is no handshake. */
export function refusesHandshake(answer: unknown): boolean {
  const refusal = RefusalSchema.safeParse(typeof answer === 'string' ? parsed(answer) : answer);
  return refusal.success && REFUSALS.has(refusal.data.error.code);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ParamsSchema = z.looseObject({
  name: z.string().optional(),
  _meta: z.looseObject({}).optional(),
});

/** The message with what it has to say of us, and the headers that go with it. */
export function selfContained(message: JSONRPCMessage): {
  message: JSONRPCMessage;
  headers: Record<string, string>;
} {
  if (!('method' in message)) return { message, headers: {} };
  const params = ParamsSchema.parse(message.params ?? {});
  const headers = {
    'mcp-protocol-version': VERSION,
    'mcp-method': message.method,
    ...(params.name !== undefined && { 'mcp-name': params.name }),
  };
  const _meta = { ...params._meta, ...CLIENT };
  return { message: { ...message, params: { ...params, _meta } }, headers };
}
