import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { JupyterApi } from '../../../src/sandbox/local/jupyter-api.js';
import { startJupyterRuntime } from '../../../src/sandbox/local/jupyter-runtime.js';
import { connectKernel } from '../../../src/sandbox/local/kernel-connection.js';
import type { JupyterRuntime, Kernel } from '../../../src/sandbox/local/runtime.js';
import { processesNaming, stubbornScript, uniqueSeconds, until } from '../../support/processes.js';
import { testPython } from '../../support/python.js';

let runtime: JupyterRuntime;
let api: JupyterApi;

beforeAll(async () => {
  const pythonPath = await testPython();
  runtime = await startJupyterRuntime({ pythonPath, isolation: 'auto', allowNetwork: false });
  api = new JupyterApi(runtime.api.socketPath, runtime.api.token);
});

afterAll(async () => {
  api[Symbol.dispose]();
  await runtime.close();
});

async function evaluate(kernel: Kernel, code: string): Promise<string> {
  const reply = await kernel.execute(code, () => undefined);
  return reply.status === 'ok' ? reply.value : reply.name;
}

const NotebookSchema = z.object({ id: z.string(), kernel: z.object({ id: z.string() }) });

async function openNotebook(path: string): Promise<z.infer<typeof NotebookSchema>> {
  const body = { path, name: path, type: 'notebook', kernel: { name: 'python3' } };
  return NotebookSchema.parse((await api.call('POST', '/api/sessions', { body })).json);
}

test('opening a session again gives the same kernel, at once and one after the other', async () => {
  const [first, second] = await Promise.all([
    runtime.openSession('same'),
    runtime.openSession('same'),
  ]);
  await evaluate(first, 'x = 1');
  expect(await evaluate(second, 'x')).toBe('1');
  expect(await evaluate(await runtime.openSession('same'), 'x')).toBe('1');
  expect((await runtime.listSessions()).filter((id) => id === 'same')).toHaveLength(1);
});

test('sessions have variables of their own and share the files', async () => {
  const one = await runtime.openSession('one');
  const two = await runtime.openSession('two');
  await evaluate(one, 'x = 1; open("shared.txt", "w").write("hello")');
  expect(await evaluate(two, 'x')).toBe('NameError');
  expect(await evaluate(two, 'open("shared.txt").read()')).toBe("'hello'");
});

test('content/… in the contents API is the folder that scripts start in', async () => {
  const body = { type: 'file', format: 'text', content: 'a,b\n1,2\n' };
  await api.call('PUT', '/api/contents/content/data.csv', { body });
  const kernel = await runtime.openSession('files');
  expect(await evaluate(kernel, 'open("data.csv").read()')).toBe("'a,b\\n1,2\\n'");
  await evaluate(kernel, 'open("out.txt", "w").write("made")');
  expect(await api.call('GET', '/api/contents/content/out.txt')).toMatchObject({
    json: { content: 'made' },
  });
});

test('sessions that others opened are listed, can be used and deleted', async () => {
  const notebook = await openNotebook('content/theirs.ipynb');
  const sessions = await runtime.listSessions();
  expect(sessions).toContain('theirs.ipynb');
  expect(await evaluate(await runtime.openSession('theirs.ipynb'), '1 + 1')).toBe('2');
  await runtime.deleteSession('theirs.ipynb');
  expect(await api.call('GET', `/api/kernels/${notebook.kernel.id}`)).toMatchObject({
    status: 404,
  });
});

test('deleting a session that is not there is NOT_FOUND', async () => {
  await expect(runtime.deleteSession('absent')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a kernel that somebody else shuts down or restarts is lost', async () => {
  for (const end of ['restart', 'shutdown']) {
    const notebook = await openNotebook(`content/${end}`);
    const kernel = await runtime.openSession(end);
    expect(await evaluate(kernel, 'x = 1; x')).toBe('1');
    if (end === 'restart') await api.call('POST', `/api/kernels/${notebook.kernel.id}/restart`);
    else await api.call('DELETE', `/api/kernels/${notebook.kernel.id}`);
    await expect(kernel.execute('x', () => undefined)).rejects.toMatchObject({
      code: 'SESSION_LOST',
    });
    expect(await evaluate(await runtime.openSession(end), 'x')).toBe('NameError');
  }
});

test('a websocket that breaks loses the session, and nobody waits for ever', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'));
  const sockets = new Set<Socket>();
  const proxy = createServer((incoming) => {
    const outgoing = createConnection(runtime.api.socketPath);
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    incoming.pipe(outgoing).pipe(incoming);
  }).listen(join(folder, 'proxy.sock'));
  await once(proxy, 'listening');
  const throughProxy = new JupyterApi(join(folder, 'proxy.sock'), runtime.api.token);
  onTestFinished(async () => {
    throughProxy[Symbol.dispose]();
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await rm(folder, { recursive: true });
  });

  const { kernel } = await openNotebook('content/broken.ipynb');
  const connection = await connectKernel({ api: throughProxy, kernelId: kernel.id });
  const execution = connection.execute('print(1, flush=True)\nwhile True: pass', () => {
    for (const socket of sockets) socket.destroy();
  });
  await expect(execution).rejects.toMatchObject({
    code: 'SESSION_LOST',
    message: expect.stringContaining('the connection to it broke') as string,
  });
});

test('deleting a session ends all that its scripts started, and nothing else', async () => {
  const [mine, other] = [uniqueSeconds(), uniqueSeconds()];
  for (const [id, seconds] of [
    ['ends', mine],
    ['stays', other],
  ] as const) {
    await evaluate(await runtime.openSession(id), stubbornScript(seconds));
  }
  const running = processesNaming(`sleep ${other}`);
  await runtime.deleteSession('ends');
  await until(() => processesNaming(mine).length === 0);
  expect(processesNaming(`sleep ${other}`)).toEqual(running);
  await runtime.deleteSession('stays');
});

test('its folder may have any name', async () => {
  const folder = await mkdtemp('/tmp/ü %#:');
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  const pythonPath = await testPython();
  await using odd = await startJupyterRuntime({
    pythonPath,
    isolation: 'auto',
    allowNetwork: false,
  });
  expect(odd.api.socketPath).toContain(folder);
  expect(await evaluate(await odd.openSession('odd'), '1 + 1')).toBe('2');
});
