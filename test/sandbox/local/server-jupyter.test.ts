import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ColabServer, startColabServer } from '../../../src/sandbox/local/colab-server.js';
import { startJupyterRuntime } from '../../../src/sandbox/local/jupyter-runtime.js';
import { cancel, serverNoticed, startCall, valueOf } from '../../support/colab-post.js';
import { testPython } from '../../support/python.js';

/** The whole server on a real kernel, with an MCP client that is not ours. */
const SESSION = 'runtimes/real/sessions/work';

let server: ColabServer;
let client: Client;
let clock = Date.now();

beforeAll(async () => {
  const pythonPath = await testPython();
  server = await startColabServer({
    startRuntime: (options) =>
      startJupyterRuntime({ pythonPath, isolation: 'auto', allowNetwork: false, ...options }),
    gpuNames: () => Promise.resolve([]),
    now: () => clock,
    limits: { fileRequestBytes: 1_000_000 },
  });
  client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${server.token}` };
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers },
  });
  await client.connect(transport);
  // From here on the client checks every result against the schemas.
  await client.listTools();
  const runtimeSpec = { variant: 'VARIANT_CPU', accelerator: 'NONE', shape: 'SHAPE_STANDARD' };
  await call('create_runtime', { runtimeId: 'real', runtime: { runtimeSpec } });
});
afterAll(async () => {
  await client.close();
  await server.close();
});

async function call(
  name: string,
  args: Record<string, unknown>,
  options: Parameters<Client['callTool']>[2] = {},
): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: args }, undefined, options)) as CallToolResult;
}

async function execute(
  code: string,
  options: Parameters<typeof call>[2] = {},
): Promise<Record<string, unknown>> {
  const { structuredContent } = await call('execute_code', { code, session: SESSION }, options);
  return structuredContent ?? {};
}

describe('on a real kernel', () => {
  it('a session keeps its variables, and the last expression is the value', async () => {
    await execute('x = 20');
    expect(await execute('print("hi")\nx + 22')).toMatchObject({
      session: SESSION,
      stdout: 'hi\n',
      stderr: '',
      result: '42',
      outputTruncated: false,
    });
  });

  it('output reaches the client while the script still runs', async () => {
    const code = [
      'import sys, time, os',
      'print("begun", flush=True)',
      'while not os.path.exists("go"): time.sleep(0.01)',
      'print("done", file=sys.stderr)',
    ].join('\n');
    const seen: (string | undefined)[] = [];
    let release: Promise<unknown> | undefined;
    const result = await execute(code, {
      onprogress: ({ message }) => {
        seen.push(message);
        release ??= call('execute_code', {
          code: 'open("go", "w").close()',
          session: 'runtimes/real/sessions/other',
        });
      },
    });
    await release;
    expect(seen.join('')).toBe('begun\ndone\n');
    expect(result).toMatchObject({ stdout: 'begun\n', stderr: 'done\n' });
  });

  it('an exception is a result', async () => {
    const { executionError } = await execute('1 / 0');
    expect(executionError).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
  });

  it('aborting the call interrupts the script, and the session lives on', async () => {
    const abort = new AbortController();
    const code = 'kept = 1\nimport time\nprint("begun", flush=True)\nwhile True: time.sleep(0.01)';
    const running = execute(code, {
      signal: abort.signal,
      onprogress: () => {
        abort.abort();
      },
    });
    await expect(running).rejects.toThrow();
    expect(await execute('kept')).toMatchObject({ result: '1' });
  });

  it('a cancelled plain call gets its answer and the end of its stream', async () => {
    const args = { code: 'print("begun")\nimport time\ntime.sleep(1e6)', session: SESSION };
    const running = await startCall(server, 'execute_code', args, { id: 0 });
    await running.outputHas('begun');
    await cancel(server, 0);
    expect((await running.result()).content[0]?.text).toMatch(/^CANCELLED: .*interrupted/);
  });

  it('a call attaches again to what still runs', async () => {
    const code =
      'n = globals().get("n", 0) + 1\nprint("begun", flush=True)\nimport os, time\nwhile not os.path.exists("on"): time.sleep(0.01)\nn';
    const args = { code, session: SESSION, executionId: 'e1' };
    const first = await startCall(server, 'execute_code', args);
    await first.outputHas('begun');
    first.cut();
    await serverNoticed(server);
    const second = await startCall(server, 'execute_code', args);
    await second.outputHas('begun');
    const other = 'runtimes/real/sessions/other';
    await valueOf(server, 'execute_code', { code: 'open("on", "w").close()', session: other });
    expect((await second.result()).structuredContent).toMatchObject({ result: '1' });
  });

  it('a script that kills its kernel is lost, and the session starts anew', async () => {
    const result = await call('execute_code', {
      code: 'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)',
      session: SESSION,
    });
    expect(result.content[0]).toMatchObject({
      text: expect.stringMatching(/^NOT_FOUND: /) as string,
    });
    expect(await execute('"x" in globals()')).toMatchObject({ result: 'False' });
  });

  it('input() fails at once with a word on what to do', async () => {
    const { executionError } = await execute('input("name? ")');
    expect(executionError).toMatchObject({ name: 'StdinNotImplementedError' });
  });

  it('many runs leave no timer and no growing memory behind', async () => {
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    await execute('1');
    const before = timers();
    for (let run = 0; run < 200; run += 1)
      await call('execute_code', { code: 'print(1)', session: SESSION, executionId: `run-${run}` });
    expect(timers()).toBeLessThanOrEqual(before + 2);
  });
});

describe('the file proxy', () => {
  let url: string;
  let headers: Record<string, string>;

  beforeAll(refresh);

  async function refresh(): Promise<void> {
    const runtime = await valueOf(server, 'get_runtime', { name: 'runtimes/real' });
    const info = runtime['connectionInfo'] as { url: string; token: string };
    url = info.url;
    headers = { 'X-Colab-Runtime-Proxy-Token': info.token };
  }

  function put(path: string, body: Record<string, unknown>): Promise<Response> {
    return fetch(`${url}/api/contents/${path}`, {
      method: 'PUT',
      headers,
      body: JSON.stringify(body),
    });
  }

  function get(path: string, extra: Record<string, string> = {}): Promise<Response> {
    return fetch(`${url}/files/${path}`, { headers: { ...headers, ...extra } });
  }

  it('writes where scripts read, and the other way round; names may be of any kind', async () => {
    const name = 'ünï cödé #1 100%.txt';
    const path = `content/${encodeURIComponent(name)}`;
    const written = await put(path, { type: 'file', format: 'text', content: 'häy' });
    expect(written.status).toBe(201);
    expect(await written.json()).toMatchObject({ name, path: `content/${name}` });
    const code = `t = open(${JSON.stringify(name)}).read()\nopen("back.txt", "w").write(t * 2)`;
    expect(await execute(code)).not.toHaveProperty('executionError');
    expect(await (await get('content/back.txt')).text()).toBe('häyhäy');
  });

  it('makes folders one level at a time and lists them', async () => {
    expect((await put('content/a/b', { type: 'directory' })).status).toBeGreaterThanOrEqual(400);
    expect((await put('content/a', { type: 'directory' })).status).toBe(201);
    expect((await put('content/a/b', { type: 'directory' })).status).toBe(201);
    const response = await fetch(`${url}/api/contents/content/a`, { headers });
    expect(await response.json()).toMatchObject({ content: [{ name: 'b', type: 'directory' }] });
  });

  it('takes a large file in pieces', async () => {
    const pieces = ['one ', 'two ', 'three'];
    for (const [index, piece] of pieces.entries()) {
      const chunk = index === pieces.length - 1 ? -1 : index + 1;
      const content = Buffer.from(piece).toString('base64');
      const response = await put('content/big', { type: 'file', format: 'base64', content, chunk });
      expect(response.ok).toBe(true);
    }
    expect(await (await get('content/big')).text()).toBe('one two three');
  });

  it('serves ranges and heads', async () => {
    await put('content/range.txt', { type: 'file', format: 'text', content: '0123456789' });
    const part = await get('content/range.txt', { range: 'bytes=3-5' });
    expect([part.status, await part.text()]).toEqual([206, '345']);
    expect(part.headers.get('content-range')).toBe('bytes 3-5/10');
    const head = await fetch(`${url}/files/content/range.txt`, { method: 'HEAD', headers });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '10']);
  });

  it('deletes files', async () => {
    await put('content/gone.txt', { type: 'file', format: 'text', content: '' });
    const target = `${url}/api/contents/content/gone.txt`;
    expect((await fetch(target, { method: 'DELETE', headers })).status).toBe(204);
    expect((await get('content/gone.txt')).status).toBe(404);
  });

  it('carries a file of many megabytes unchanged', async () => {
    const made = await execute(
      'import hashlib, os\nb = os.urandom(20_000_000)\nopen("blob", "wb").write(b)\nhashlib.sha256(b).hexdigest()',
    );
    const bytes = await (await get('content/blob')).arrayBuffer();
    const digest = await crypto.subtle.digest('SHA-256', bytes);
    expect(`'${Buffer.from(digest).toString('hex')}'`).toBe(made['result']);
  });

  it('refuses a request that is too long', async () => {
    const content = 'x'.repeat(1_000_001);
    const response = await put('content/long', { type: 'file', format: 'text', content });
    expect(response.status).toBe(413);
    expect((await get('content/long')).status).toBe(404);
  });

  it.each([
    'files/etc/passwd',
    'files/content/%2e%2e/%2e%2e/etc/passwd',
    'files/content/..%2f..%2fetc%2fpasswd',
    'files/content//etc/passwd',
    'files/content/%00',
    'files/content/%zz',
    'api/contents/',
    'api/contents/etc',
    'api/kernels',
    'api/sessions',
    'api/terminals',
    'api/contents',
    '',
  ])('answers 404 to %s', async (path) => {
    expect((await fetch(`${url}/${path}`, { headers })).status).toBe(404);
  });

  it('answers 404 without the token, with a wrong one and with the server’s own', async () => {
    await put('content/secret.txt', { type: 'file', format: 'text', content: 'secret' });
    for (const given of [
      undefined,
      { 'X-Colab-Runtime-Proxy-Token': 'wrong' },
      { authorization: `Bearer ${server.token}` },
    ])
      expect(
        (await fetch(`${url}/files/content/secret.txt`, given && { headers: given })).status,
      ).toBe(404);
    expect((await get('content/secret.txt')).status).toBe(200);
  });

  it('shows nothing of Jupyter: no cookie, no server name, no page with its token', async () => {
    for (const path of ['content/none', 'content', 'content/back.txt']) {
      const response = await get(path);
      expect([...response.headers.keys()]).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/cookie|^server$|csp|security|x-/)]),
      );
      expect(await response.text()).not.toMatch(/token|Jupyter/);
    }
  });

  it('answers 405 to methods that change nothing here', async () => {
    const response = await fetch(`${url}/files/content/x`, { method: 'POST', headers });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('answers 404 once the token has expired, until a new one is fetched', async () => {
    await put('content/late.txt', { type: 'file', format: 'text', content: 'late' });
    clock += 3_600_000;
    expect((await get('content/late.txt')).status).toBe(404);
    await refresh();
    expect(await (await get('content/late.txt')).text()).toBe('late');
  });
});
