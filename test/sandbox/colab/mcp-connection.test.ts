import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FailedCall } from '../../../src/sandbox/failure.js';
import { McpConnection } from '../../../src/sandbox/colab/mcp-connection.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import type { SignIn } from '../../../src/sandbox/colab/sign-in.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import type { ToolCall } from '../../support/scripted-colab.js';
import { connect, LONG_MS, ok } from './connected.js';

function connection(
  server: { url: string },
  options: { signIn?: SignIn; headers?: Record<string, string> } = {},
): McpConnection {
  const { signIn = fixedToken('secret-token-1234'), headers = {} } = options;
  return new McpConnection({ url: new URL(server.url), signIn, headers });
}

async function failure(call: Promise<unknown>): Promise<FailedCall['failure']> {
  try {
    await call;
  } catch (error) {
    if (error instanceof FailedCall) return error.failure;
    throw error;
  }
  throw new Error('It should have failed.');
}

describe('a call whose answer does not come', () => {
  it.each<[string, (call: ToolCall) => void]>([
    [
      'ends silently',
      (call) => {
        call.endSilently();
      },
    ],
    [
      'is cut',
      (call) => {
        call.cut();
      },
    ],
    [
      'is cut after output',
      (call) => {
        call.progress('x');
        call.cut();
      },
    ],
    [
      'is an empty 202',
      (call) => {
        call.http(202, '');
      },
    ],
  ])('fails at once where the stream %s', async (_how, answer) => {
    await using server = await ScriptedColab.start();
    const client = connection(server);
    server.answer('get_runtime', answer);
    expect((await failure(client.callTool('get_runtime', {}))).status).toMatch(
      /STREAM_CUT|NETWORK/,
    );
    await client.close();
  });

  it('fails where events are no protocol messages', async () => {
    await using server = await ScriptedColab.start();
    const client = connection(server);
    server.answer('get_runtime', (call) => {
      call.http(200, 'data: hello\n\n', { 'content-type': 'text/event-stream' });
    });
    await expect(client.callTool('get_runtime', {})).rejects.toThrow('no JSON-RPC message');
    await client.close();
  });
});

describe('results', () => {
  it('come as structured content, else as JSON in the first text, else empty', async () => {
    await using server = await ScriptedColab.start();
    const client = connection(server);
    const rpc = (result: object) => (call: ToolCall) => {
      const body = { jsonrpc: '2.0', id: call.id, result, extra: 'field of a later version' };
      call.http(200, body);
    };
    const text = (value: string): object[] => [{ type: 'text', text: value }];
    server.answer('a', rpc({ structuredContent: { a: 1 }, content: text('{"a":2}') }));
    server.answer('b', rpc({ content: text('{"b":[]}') }));
    server.answer('c', rpc({ content: [] }));
    server.answer('d', rpc({ content: text('no json') }));
    expect(await client.callTool('a', {})).toEqual({ a: 1 });
    expect(await client.callTool('b', {})).toEqual({ b: [] });
    expect(await client.callTool('c', {})).toEqual({});
    expect((await failure(client.callTool('d', {}))).text).toBe('no json');
    await client.close();
  });
});

describe('signing in', () => {
  it('happens afresh, once, where the server answers 401, and the call is repeated', async () => {
    const tokens = new Set(['new-token-5678']);
    await using server = await ScriptedColab.start({ tokens });
    let token = 'old-token-1234';
    let refreshed = 0;
    const refresh = (): void => {
      refreshed += 1;
      token = 'new-token-5678';
    };
    const client = connection(server, {
      signIn: { accessToken: () => Promise.resolve(token), refresh },
    });
    expect(await client.callTool('get_subscription', {})).toEqual({});
    expect(refreshed).toBe(1);
    tokens.clear();
    expect(await failure(client.callTool('get_subscription', {}))).toMatchObject({
      status: 'UNAUTHENTICATED',
    });
    expect(refreshed).toBe(2);
    await client.close();
  });

  it('happens afresh where only the tool says so', async () => {
    await using server = await ScriptedColab.start();
    let refreshed = 0;
    const signIn = { ...fixedToken('token-123456'), refresh: () => void (refreshed += 1) };
    const client = connection(server, { signIn });
    server.answer('get_subscription', (call) => {
      call.toolError('Request is missing required authentication credential.');
    });
    expect(await client.callTool('get_subscription', {})).toEqual({});
    expect(refreshed).toBe(1);
    await client.close();
  });

  it('fails at once where there is no other token', async () => {
    await using server = await ScriptedColab.start({ tokens: new Set() });
    await expect(connect(server)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('asks for the token before every request and sends the quota project', async () => {
    await using server = await ScriptedColab.start();
    let count = 0;
    const accessToken = (): Promise<string> => Promise.resolve(`token-${++count}`);
    const quotaProject = (): Promise<string> => Promise.resolve('of-the-credentials');
    const client = connection(server, { signIn: { accessToken, quotaProject } });
    await client.callTool('a', {});
    await client.callTool('b', {});
    const [first, second] = server.calls.map((call) => call.headers);
    expect(first?.authorization).not.toBe(second?.authorization);
    expect(first?.['x-goog-user-project']).toBe('of-the-credentials');
    await client.close();
    const named = connection(server, {
      signIn: { accessToken, quotaProject },
      headers: { 'x-goog-user-project': 'named' },
    });
    await named.callTool('c', {});
    expect(server.calls.at(-1)?.headers['x-goog-user-project']).toBe('named');
    await named.close();
  });
});

describe('the MCP session', () => {
  it('is renewed where the server has forgotten it, and the call is repeated', async () => {
    await using server = await ScriptedColab.start();
    const client = connection(server);
    await client.callTool('a', {});
    server.mcpSession = 'mcp-2';
    expect(await client.callTool('b', {})).toEqual({});
    expect(server.others.filter((other) => other === 'initialize')).toHaveLength(2);
    await client.close();
  });

  it('is renewed for a script too, which runs once', async () => {
    await using server = await ScriptedColab.start();
    await using sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.mcpSession = 'mcp-2';
    server.answer('execute_code', ok(server, { stdout: 'once' }));
    const result = await session.execute('x', { timeoutMs: LONG_MS });
    expect(result).toMatchObject({ status: 'ok', stdout: 'once' });
    expect(server.callsOf('execute_code')).toHaveLength(1);
  });

  it('is opened once for calls that come together, and given back at the end', async () => {
    await using server = await ScriptedColab.start();
    const client = connection(server);
    await Promise.all(['a', 'b', 'c'].map((tool) => client.callTool(tool, {})));
    await client.close();
    expect(server.others).toEqual(['initialize', 'notifications/initialized', 'DELETE']);
    await expect(client.callTool('d', {})).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('that one caller does not wait for is still opened for the others', async () => {
    await using server = await ScriptedColab.start();
    const client = connection(server);
    const controller = new AbortController();
    const impatient = client.callTool('a', {}, { signal: controller.signal });
    const patient = client.callTool('b', {});
    controller.abort(new Error('impatient'));
    await expect(impatient).rejects.toThrow('impatient');
    expect(await patient).toEqual({});
    await client.close();
  });
});

describe('the token', () => {
  async function redirecting(status: number, location: string) {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.url ?? ''} ${request.headers.authorization ?? 'none'}`);
      response.writeHead(status, { location }).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    return {
      url,
      seen,
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  }

  it.each([302, 307])('is not carried to another origin by HTTP %i', async (status) => {
    await using target = await ScriptedColab.start();
    await using server = await redirecting(status, target.url);
    const client = connection(server);
    expect(await failure(client.callTool('a', {}))).toMatchObject({ status: 'NOT_COLAB' });
    expect(target.others).toEqual([]);
    await client.close();
  });

  it('is not sent round in circles', async () => {
    await using server = await redirecting(307, '/again');
    const client = connection(server);
    expect(await failure(client.callTool('a', {}))).toMatchObject({ status: 'NOT_COLAB' });
    expect(server.seen).toHaveLength(4);
    await client.close();
  });

  it.each(['http://colab.example/mcp', 'ftp://127.0.0.1/mcp', 'no url'])(
    'is not sent to %s',
    async (url) => {
      await using server = await ScriptedColab.start();
      await expect(connect(server, { url })).rejects.toMatchObject({ code: 'BAD_URL' });
    },
  );
});

describe('a server that is no Colab server', () => {
  it('is named, with what to do', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    await using scripted = await ScriptedColab.start();
    await expect(connect(scripted, { url })).rejects.toMatchObject({
      code: 'NOT_COLAB',
      message: expect.stringContaining(`${url} is not a Colab MCP server`) as string,
    });
    server.closeAllConnections();
    server.close();
  });

  it('that does not listen is a network error that says so', async () => {
    const server = await ScriptedColab.start();
    const { url } = server;
    await server[Symbol.asyncDispose]();
    await using other = await ScriptedColab.start();
    await expect(connect(other, { url })).rejects.toMatchObject({
      code: 'NETWORK',
      isRetryable: true,
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });
});
