import { describe, expect, it } from 'vitest';
import { HttpRefusal, readFailure, StreamCut, ToolRefusal } from '../../src/sandbox/failure.js';
import { toSandboxError } from '../../src/sandbox/sandbox-errors.js';

const url = 'https://colab.example/mcp';

function http(status: number, body: string | object, headers: Record<string, string> = {}): Error {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  const all = { 'content-type': type, ...headers };
  return new HttpRefusal(new Response(text, { status, headers: all }), text);
}

function google(code: number, status: string, message: string, details: object[] = []): object {
  return { error: { code, status, message, details } };
}

function rpc(code: number, message: string, data?: unknown): Error {
  return Object.assign(new Error(message), { code, data });
}

function tool(text: string, structuredContent?: object): Error {
  return new ToolRefusal(text, { isError: true, structuredContent });
}

const info = (reason: string): object => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
});
const refused = Object.assign(new TypeError('fetch failed'), {
  cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' }),
});

describe('a failure is read from every shape it can take', () => {
  it.each<[string, unknown, string, string, boolean]>([
    [
      'HTTP 401',
      http(401, google(401, 'UNAUTHENTICATED', 'no')),
      'list_runtimes',
      'UNAUTHENTICATED',
      false,
    ],
    ['HTTP 401 without a body', http(401, {}), 'list_runtimes', 'UNAUTHENTICATED', false],
    [
      'HTTP 403, API off',
      http(403, google(403, 'PERMISSION_DENIED', 'off', [info('SERVICE_DISABLED')])),
      'list_runtimes',
      'PERMISSION_DENIED',
      false,
    ],
    [
      'HTTP 429',
      http(429, google(429, 'RESOURCE_EXHAUSTED', 'slow')),
      'execute_code',
      'RATE_LIMITED',
      true,
    ],
    ['HTTP 429 as a page', http(429, '<html>busy</html>'), 'execute_code', 'RATE_LIMITED', true],
    ['HTTP 503 as a page', http(503, '<html>down</html>'), 'execute_code', 'UNAVAILABLE', true],
    ['HTTP 504 without a body', http(504, {}), 'execute_code', 'UNAVAILABLE', true],
    [
      'HTTP 400',
      http(400, google(400, 'INVALID_ARGUMENT', 'bad')),
      'create_session',
      'INVALID_ARGUMENT',
      false,
    ],
    [
      'HTTP 400, really a precondition',
      http(400, google(400, 'FAILED_PRECONDITION', 'x', [info('TOO_MANY_ACTIVE_RUNTIMES')])),
      'create_runtime',
      'TOO_MANY_RUNTIMES',
      false,
    ],
    [
      'HTTP 404 as a page',
      http(404, '<!doctype html><p>Not found'),
      'list_runtimes',
      'NOT_COLAB',
      false,
    ],
    ['HTTP 200 as a page', http(200, '<html>hello</html>'), 'list_runtimes', 'NOT_COLAB', false],
    ['a redirect elsewhere', http(302, {}), 'list_runtimes', 'NOT_COLAB', false],
    [
      'a list of errors',
      http(500, [google(503, 'UNAVAILABLE', 'x')]),
      'get_runtime',
      'UNAVAILABLE',
      true,
    ],
    [
      'JSON-RPC error with a Status as data',
      rpc(-32_603, 'failed', { code: 5, message: 'gone' }),
      'get_runtime',
      'NOT_FOUND',
      false,
    ],
    [
      'JSON-RPC error with {error} as data',
      rpc(-32_000, 'failed', google(8, 'RESOURCE_EXHAUSTED', 'x')),
      'get_runtime',
      'RATE_LIMITED',
      true,
    ],
    [
      'JSON-RPC error that names its status',
      rpc(-32_603, 'RESOURCE_EXHAUSTED: too fast'),
      'get_runtime',
      'RATE_LIMITED',
      true,
    ],
    [
      'JSON-RPC error with bad params',
      rpc(-32_602, 'Invalid arguments'),
      'get_runtime',
      'INVALID_ARGUMENT',
      false,
    ],
    [
      'JSON-RPC: no such method',
      rpc(-32_601, 'Method not found'),
      'list_runtimes',
      'NOT_COLAB',
      false,
    ],
    [
      'JSON-RPC: no such tool',
      rpc(-32_602, 'Unknown tool: list_runtimes'),
      'list_runtimes',
      'NOT_COLAB',
      false,
    ],
    [
      'our own failure inside an RPC error',
      rpc(-32_090, 'x', new StreamCut()),
      'get_runtime',
      'NETWORK',
      true,
    ],
    [
      'isError text, a code name',
      tool('UNAVAILABLE: try later'),
      'get_runtime',
      'UNAVAILABLE',
      true,
    ],
    [
      'isError text, a phrase',
      tool('The caller does not have permission'),
      'get_runtime',
      'PERMISSION_DENIED',
      false,
    ],
    [
      'isError text, signed out',
      tool('Request is missing required authentication credential.'),
      'get_runtime',
      'UNAUTHENTICATED',
      false,
    ],
    [
      'isError text that is JSON',
      tool(JSON.stringify(google(404, 'NOT_FOUND', 'gone'))),
      'get_runtime',
      'NOT_FOUND',
      false,
    ],
    [
      'isError text with JSON in it',
      tool(`Error: ${JSON.stringify({ code: 14, message: 'x' })}`),
      'get_runtime',
      'UNAVAILABLE',
      true,
    ],
    [
      'isError structuredContent',
      tool('failed', { status: 'DEADLINE_EXCEEDED', message: 'x' }),
      'create_runtime',
      'UNAVAILABLE',
      true,
    ],
    [
      'isError structuredContent, only a reason',
      tool('failed', { reason: 'DENYLISTED' }),
      'create_runtime',
      'ACCOUNT_BLOCKED',
      false,
    ],
    [
      'isError: no such tool',
      tool('MCP error -32602: Tool list_runtimes not found'),
      'list_runtimes',
      'NOT_COLAB',
      false,
    ],
    [
      'structure is believed before words',
      tool('NOT_FOUND', { code: 8 }),
      'get_runtime',
      'RATE_LIMITED',
      true,
    ],
    [
      'usage quota',
      tool('x', { code: 9, details: [info('QUOTA_EXCEEDED_USAGE_TIME')] }),
      'create_runtime',
      'QUOTA_EXHAUSTED',
      false,
    ],
    [
      'any other precondition of create_runtime',
      tool('FAILED_PRECONDITION: none left'),
      'create_runtime',
      'NO_CAPACITY',
      true,
    ],
    [
      'a precondition of another tool',
      tool('FAILED_PRECONDITION: no'),
      'create_session',
      'UNKNOWN',
      false,
    ],
    [
      'ALREADY_EXISTS',
      tool('x', { status: 'ALREADY_EXISTS' }),
      'create_runtime',
      'ALREADY_EXISTS',
      false,
    ],
    ['a cut stream', new StreamCut(), 'execute_code', 'NETWORK', true],
    ['no network', refused, 'list_runtimes', 'NETWORK', true],
    ['words we do not know', tool('Something odd'), 'list_runtimes', 'UNKNOWN', false],
    ['no error at all', 'odd', 'list_runtimes', 'UNKNOWN', false],
  ])('%s', (_name, raw, toolName, code, isRetryable) => {
    const failure = readFailure(raw);
    const error = toSandboxError(failure, { tool: toolName, on: 'runtimes/r1', url });
    expect(error).toMatchObject({ code, isRetryable });
  });

  it('keeps the raw failure as cause', () => {
    const raw = tool('UNAVAILABLE');
    const error = toSandboxError(readFailure(raw), { tool: 'get_runtime', on: 'runtimes/r1', url });
    expect(error.cause).toBe(raw);
  });

  it('takes the pause from RetryInfo, fractions included, or from Retry-After', () => {
    const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.5s' };
    expect(readFailure(tool('x', { code: 8, details: [retryInfo] })).retryAfterMs).toBe(1_500);
    expect(readFailure(http(429, {}, { 'retry-after': '7' })).retryAfterMs).toBe(7_000);
    const past = 'Wed, 21 Oct 2015 07:28:00 GMT';
    expect(readFailure(http(503, {}, { 'retry-after': past })).retryAfterMs).toBe(0);
    expect(readFailure(http(503, {}, { 'retry-after': 'soon' })).retryAfterMs).toBeUndefined();
  });

  it('knows that a refused connection carried nothing', () => {
    expect(readFailure(refused).neverSent).toBe(true);
    expect(readFailure(new StreamCut()).neverSent).toBe(false);
  });
});

describe('the message', () => {
  it('says what failed, on what and what to do, on one line', () => {
    const failure = readFailure(
      http(403, google(403, 'PERMISSION_DENIED', 'Off.\n Now', [info('SERVICE_DISABLED')])),
    );
    const error = toSandboxError(failure, { tool: 'list_runtimes', on: url, url });
    expect(error.message).toBe(
      `list_runtimes failed on ${url}: Off. Now. Switch the API on: \`gcloud services enable colaboratory.googleapis.com\`.`,
    );
  });

  it('names the URL that is no Colab server', () => {
    const failure = readFailure(http(200, '<html><body>long page</body></html>'));
    const error = toSandboxError(failure, { tool: 'list_runtimes', on: url, url });
    expect(error.message).toContain(`${url} is not a Colab MCP server`);
    expect(error.message).not.toContain('long page');
  });

  it('carries no token', () => {
    const failure = readFailure(
      tool(
        'PERMISSION_DENIED for Bearer ya29.a0AfB_byC-secret and X-Colab-Runtime-Proxy-Token: abc123def',
      ),
    );
    const error = toSandboxError(failure, { tool: 'list_runtimes', on: url, url });
    expect(error.message).not.toMatch(/a0AfB|abc123def/);
  });

  it.each([
    ['ACCESS_TOKEN_SCOPE_INSUFFICIENT', 'auth/colaboratory'],
    ['USER_PROJECT_DENIED', 'GOOGLE_CLOUD_QUOTA_PROJECT'],
    ['UNKNOWN_CLIENT_AGENT', 'gcloud auth application-default login --scopes='],
  ])('mends %s with its own remedy', (reason, remedy) => {
    const failure = readFailure(http(403, google(403, 'PERMISSION_DENIED', 'no', [info(reason)])));
    expect(toSandboxError(failure, { tool: 't', on: 'o', url }).message).toContain(remedy);
  });

  it.each([
    ['https://colaboratory.googleapis.com/mcp', 'gcloud auth application-default login --scopes='],
    ['http://127.0.0.1:8000/mcp', 'the token that this server printed'],
  ])('tells who is signed out of %s how to sign in there', (server, remedy) => {
    const failure = readFailure(http(401, google(401, 'UNAUTHENTICATED', 'no')));
    const error = toSandboxError(failure, { tool: 't', on: 'o', url: server });
    expect(error.message).toContain(remedy);
  });
});
