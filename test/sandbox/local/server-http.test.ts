import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ColabServer, startColabServer } from '../../../src/sandbox/local/colab-server.js';
import { cancel, callTool, initialize, post, rpc, startCall } from '../../support/colab-post.js';
import { ScriptedRuntime } from '../../support/scripted-runtime.js';

let server: ColabServer;

beforeEach(async () => {
  server = await startColabServer({
    startRuntime: () => Promise.resolve(new ScriptedRuntime()),
    gpuNames: () => Promise.resolve([]),
    limits: { requestBytes: 10_000, maxMcpSessions: 2 },
  });
});
afterEach(async () => {
  await server.close();
});

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const listRuntimes = { ...ping, method: 'tools/call', params: { name: 'list_runtimes' } };

/** Headers that `fetch` does not let one set. */
async function statusWith(headers: Record<string, string>, path = '/mcp'): Promise<number> {
  const outgoing = request(new URL(path, server.url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
  outgoing.end(JSON.stringify(ping));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

describe('who may come in', () => {
  it('is whoever has the token, and 401 says how', async () => {
    for (const token of ['', 'wrong', `${server.token}x`]) {
      const response = await post({ url: server.url, token }, ping);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
    expect((await post(server, ping)).status).toBe(200);
  });

  it('never needs the token in a URL', async () => {
    const url = `${server.url}?token=${server.token}&access_token=${server.token}`;
    expect((await post({ url, token: 'wrong' }, ping)).status).toBe(401);
    expect(server.url).not.toContain(server.token);
  });

  it('is nobody whose name for this machine is another (DNS rebinding)', async () => {
    const { port } = new URL(server.url);
    expect(await statusWith({ host: `evil.example:${port}` })).toBe(403);
    expect(await statusWith({ host: `localhost:${port}` })).toBe(200);
    expect(await statusWith({ host: `[::1]:${port}` })).toBe(200);
  });

  it('is no page of another site', async () => {
    expect(await statusWith({ origin: 'https://evil.example' })).toBe(403);
    expect(await statusWith({ origin: 'null' })).toBe(403);
    expect(await statusWith({ origin: 'http://localhost:6274' })).toBe(200);
  });

  it('finds nothing but the endpoint', async () => {
    expect(await statusWith({}, '/')).toBe(404);
    expect(await statusWith({}, '/mcp/x')).toBe(404);
  });

  it('gets the token that was asked for', async () => {
    await using other = await startColabServer({
      startRuntime: () => Promise.resolve(new ScriptedRuntime()),
      token: 'chosen',
    });
    expect((await post({ url: other.url, token: 'chosen' }, ping)).status).toBe(200);
  });
});

describe('a port', () => {
  it('in use is a ConfigError that says what to do', async () => {
    const port = Number(new URL(server.url).port);
    const second = startColabServer({
      startRuntime: () => Promise.resolve(new ScriptedRuntime()),
      port,
    });
    await expect(second).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'PORT_IN_USE',
      message: expect.stringMatching(new RegExp(`${port}.*--port`)) as string,
    });
  });
});

describe('JSON-RPC', () => {
  it.each([
    ['text that is not JSON', '{', 400, -32_700],
    ['a batch', [ping], 400, -32_600],
    ['JSON that is no message', { hello: 1 }, 400, -32_600],
    ['a request with id null', { ...ping, id: null }, 400, -32_600],
    ['an unknown method', { ...ping, method: 'resources/list' }, 200, -32_601],
    ['an unknown tool', { ...listRuntimes, params: { name: 'rm' } }, 200, -32_602],
    ['a tool call without a name', { ...listRuntimes, params: {} }, 200, -32_602],
  ])('answers %s with the right code', async (_what, body, status, code) => {
    const response = await post(server, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } });
  });

  it('answers ping, and keeps the id, 0 and texts included', async () => {
    for (const id of [0, 'a', 17])
      expect(await rpc(server, { ...ping, id })).toEqual({ jsonrpc: '2.0', id, result: {} });
  });

  it('accepts notifications and answers of the client without a word', async () => {
    for (const body of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 9, result: {} },
    ]) {
      const response = await post(server, body);
      expect([response.status, await response.text()]).toEqual([202, '']);
    }
  });

  it('refuses a body that is too long, and lives on', async () => {
    const response = await post(server, { ...ping, params: { filler: 'x'.repeat(10_000) } });
    expect(response.status).toBe(413);
    expect((await post(server, ping)).status).toBe(200);
  });

  it('refuses GET and names what it takes', async () => {
    const response = await fetch(server.url, {
      headers: { authorization: `Bearer ${server.token}`, accept: 'text/event-stream' },
    });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
  });
});

describe('the form of an answer', () => {
  it('is a stream for those who can read one', async () => {
    const call = await startCall(server, 'list_runtimes');
    expect(call.response.headers['content-type']).toBe('text/event-stream');
    expect((await call.result()).structuredContent).toEqual({ runtimes: [] });
  });

  it.each(['application/json', '*/*', 'application/json;q=0.9, text/html'])(
    'is JSON for those who accept %s',
    async (accept) => {
      const response = await post(server, listRuntimes, { accept });
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({
        result: { structuredContent: { runtimes: [] } },
      });
    },
  );

  it('is refused to those who accept neither', async () => {
    expect((await post(server, listRuntimes, { accept: 'text/html' })).status).toBe(406);
  });
});

describe('an MCP session', () => {
  it('is handed out at initialize, with the version that was asked for if it is known', async () => {
    const ask = async (protocolVersion: string) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } };
      const response = await post(server, { ...ping, method: 'initialize', params });
      expect(response.headers.get('mcp-session-id')).toMatch(/^[\w-]{36}$/);
      return ((await response.json()) as { result: Record<string, unknown> }).result;
    };
    expect(await ask('2025-03-26')).toMatchObject({
      protocolVersion: '2025-03-26',
      capabilities: { tools: {} },
      serverInfo: { name: 'colab-solver' },
    });
    expect(await ask('2099-01-01')).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  it('that is unknown answers 404, as does one that was ended', async () => {
    const id = await initialize(server);
    const headers = { 'mcp-session-id': id };
    expect((await post(server, ping, headers)).status).toBe(200);
    const end = () =>
      fetch(server.url, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${server.token}`, ...headers },
      });
    expect((await end()).status).toBe(204);
    expect((await end()).status).toBe(404);
    const response = await post(server, ping, headers);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: -32_001 } });
  });

  it('gives way to newer ones above the limit, the one unused for longest first', async () => {
    const first = await initialize(server);
    const second = await initialize(server);
    await post(server, ping, { 'mcp-session-id': first });
    await initialize(server);
    expect((await post(server, ping, { 'mcp-session-id': second })).status).toBe(404);
    expect((await post(server, ping, { 'mcp-session-id': first })).status).toBe(200);
  });

  it('is not needed for any call', async () => {
    expect((await callTool(server, 'list_runtimes')).structuredContent).toEqual({ runtimes: [] });
    await cancel(server, 99);
  });

  it('of a protocol version we do not speak is refused, so that the client falls back', async () => {
    const headers = { 'mcp-protocol-version': '2026-07-28' };
    expect((await post(server, ping, headers)).status).toBe(400);
    expect((await post(server, ping, { 'mcp-protocol-version': '2025-06-18' })).status).toBe(200);
  });
});
