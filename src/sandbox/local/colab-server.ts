import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { ConfigError } from '../../errors.js';
import { type Logger, silentLogger } from '../../logger.js';
import { hasBearerToken, isLoopbackRequest } from './access.js';
import { FileProxy } from './file-proxy.js';
import { McpEndpoint, refuse } from './mcp-endpoint.js';
import type { JupyterRuntime } from './runtime.js';
import { RuntimeRegistry } from './runtime-registry.js';
import { machineSpecs } from './runtime-specs.js';
import { createTools } from './tools.js';

export interface ColabServerOptions {
  /** Starts one runtime; the signal fires when the server closes meanwhile. */
  startRuntime: (options: { signal: AbortSignal }) => Promise<JupyterRuntime>;
  /** What a client must send as bearer token. Default: 32 random bytes. */
  token?: string;
  /** On 127.0.0.1. Default 0: any free one. */
  port?: number;
  limits?: Partial<ColabServerLimits>;
  /** What `nvidia-smi` says. */
  gpuNames?: () => Promise<string[]>;
  /** Milliseconds since 1970; for tests of tokens that expire. */
  now?: () => number;
  logger?: Logger;
}

export interface ColabServerLimits {
  /** A call of execute_code that takes longer ends with DEADLINE_EXCEEDED, while the code goes on. Default 600,000. */
  streamingDeadlineMs: number;
  /** How long a cancelled call waits for its code to stop. Default 5,000. */
  cancelGraceMs: number;
  /** The end of each output stream that is kept; also the longest value and message. Default 1 MiB. */
  outputBytes: number;
  /** Line ends kept of each stream. Default 20,000. */
  outputLines: number;
  /** Undelivered results kept per session. Default 16. */
  retainedResults: number;
  /** How long an undelivered result is kept. Default one hour. */
  retainedMs: number;
  /** Default one hour, as on Colab. */
  proxyTokenLifetimeMs: number;
  /** Runtimes at a time. Default 8. */
  maxRuntimes: number;
  /** MCP sessions at a time. Default 1,000. */
  maxMcpSessions: number;
  /** The largest MCP message. Default 16 MiB. */
  requestBytes: number;
  /** The largest request to the file proxy. Default 72 million, room for 50 MB in base64. */
  fileRequestBytes: number;
}

export interface ColabServer extends AsyncDisposable {
  /** The MCP endpoint. */
  readonly url: string;
  readonly token: string;
  /** Ends every call, runtime and connection and frees the port; a second call waits for the first. */
  close(): Promise<void>;
}

const DEFAULT_LIMITS: ColabServerLimits = {
  streamingDeadlineMs: 600_000,
  cancelGraceMs: 5_000,
  outputBytes: 1_048_576,
  outputLines: 20_000,
  retainedResults: 16,
  retainedMs: 3_600_000,
  proxyTokenLifetimeMs: 3_600_000,
  maxRuntimes: 8,
  maxMcpSessions: 1_000,
  requestBytes: 16 * 1_048_576,
  fileRequestBytes: 72_000_000,
};

const MCP_PATH = '/mcp';
const FORBIDDEN = -32_000;
/** Loopback only: what is sent here is run. */
const HOST = '127.0.0.1';
/** How long a closing server waits for its last answers to be taken. */
const LAST_ANSWERS_MS = 1_000;
/** Longer than clients keep an idle connection, so that they, not we, close it. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/**
 * Starts a server that speaks Colab's MCP interface over runtimes of this machine.
 * @throws {ConfigError} `PORT_IN_USE`, or `BAD_OPTION` where the port may not be used.
 */
export async function startColabServer(options: ColabServerOptions): Promise<ColabServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const token = options.token ?? randomBytes(32).toString('base64url');
  const logger = options.logger ?? silentLogger;
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS });
  const origin = await listen(server, options.port ?? 0);
  let specs: ReturnType<typeof machineSpecs> | undefined;
  const knownSpecs = (): ReturnType<typeof machineSpecs> =>
    (specs ??= machineSpecs(options.gpuNames));
  const runtimes = new RuntimeRegistry({
    startRuntime: options.startRuntime,
    specs: knownSpecs,
    maxRuntimes: limits.maxRuntimes,
    proxyTokenLifetimeMs: limits.proxyTokenLifetimeMs,
    now: options.now ?? Date.now,
    executions: {
      outputCaps: { bytes: limits.outputBytes, lines: limits.outputLines },
      retention: { results: limits.retainedResults, ms: limits.retainedMs },
    },
  });
  const tools = createTools({
    runtimes,
    specs: knownSpecs,
    proxyUrl: (runtimeName) => `${origin}/${runtimeName}`,
    execution: {
      streamingDeadlineMs: limits.streamingDeadlineMs,
      cancelGraceMs: limits.cancelGraceMs,
      textLength: limits.outputBytes,
    },
  });
  const endpoint = new McpEndpoint({
    serverInfo: { name: 'colab-solver', title: 'colab-solver', version: packageVersion() },
    tools,
    requestBytes: limits.requestBytes,
    maxSessions: limits.maxMcpSessions,
    logger,
  });
  const files = new FileProxy({ runtimes, requestBytes: limits.fileRequestBytes });
  const requests = new Set<Promise<void>>();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const handled = serve(request, response, { token, endpoint, files, logger }).finally(() =>
      requests.delete(handled),
    );
    requests.add(handled);
  });

  const shutDown = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    endpoint.close();
    await Promise.race([
      Promise.all(requests),
      setTimeout(LAST_ANSWERS_MS, undefined, { ref: false }),
    ]);
    try {
      await runtimes.close();
    } finally {
      server.closeAllConnections();
      await closed;
    }
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= shutDown());
  return { url: `${origin}${MCP_PATH}`, token, close, [Symbol.asyncDispose]: close };
}

interface Served {
  token: string;
  endpoint: McpEndpoint;
  files: FileProxy;
  logger: Logger;
}

/** Never rejects; a fault of ours is logged and answered with 500. */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  served: Served,
): Promise<void> {
  // That a client has gone is noticed where it matters, by `close`.
  response.on('error', () => undefined);
  try {
    await route(request, response, served);
  } catch (error) {
    if (request.errored === null) served.logger.error('A request failed', { error });
    if (response.headersSent) response.destroy();
    else refuse(response, 500, ErrorCode.InternalError, 'The server failed; see its log.');
  }
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  { token, endpoint, files }: Served,
): Promise<void> {
  const path = request.url?.split('?', 1)[0];
  if (!isLoopbackRequest(request))
    refuse(response, 403, FORBIDDEN, 'Host and Origin must be this machine.');
  else if (path?.startsWith('/runtimes/')) await files.handle(request, response);
  else if (!hasBearerToken(request, token))
    refuse(response, 401, FORBIDDEN, "Send the server's token: authorization: Bearer <token>.", {
      'www-authenticate': 'Bearer realm="colab-solver"',
    });
  else if (path === MCP_PATH) await endpoint.handle(request, response);
  else refuse(response, 404, FORBIDDEN, `The MCP endpoint is ${MCP_PATH}.`);
}

/** Starts listening and returns the origin. */
async function listen(server: Server, port: number): Promise<string> {
  try {
    const listening = once(server, 'listening');
    server.listen(port, HOST);
    await listening;
  } catch (cause) {
    throw listenError(cause, port);
  }
  return `http://${HOST}:${(server.address() as AddressInfo).port}`;
}

function listenError(cause: unknown, port: number): ConfigError {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new ConfigError(
      'PORT_IN_USE',
      `Port ${port} of ${HOST} is in use. Choose another with --port, or leave it out for any free one.`,
      { cause },
    );
  return new ConfigError(
    'BAD_OPTION',
    `Cannot listen on port ${port} of ${HOST}: ${message}. Choose another with --port.`,
    { cause },
  );
}

function packageVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
