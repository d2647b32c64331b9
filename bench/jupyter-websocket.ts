import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Contender } from './measure.js';

interface KernelMessage {
  parent_header: { msg_id?: string };
  msg_type: string;
  content: { execution_state?: string; text?: string };
}

/** `jupyter server` on TCP with its own settings, and a plain websocket to one of its kernels. */
export async function openJupyterWebsocket(pythonPath: string, code: string): Promise<Contender> {
  const folder = await mkdtemp(join(tmpdir(), 'colab-solver-bench-'));
  const port = await freePort();
  const token = randomBytes(16).toString('hex');
  const server = spawn(
    pythonPath,
    [
      ...['-m', 'jupyter_server', '--no-browser', '--allow-root', `--ServerApp.root_dir=${folder}`],
      ...[`--port=${port}`, '--ServerApp.port_retries=0', '--ServerApp.log_level=ERROR'],
    ],
    {
      stdio: 'ignore',
      env: { ...process.env, JUPYTER_TOKEN: token, JUPYTER_RUNTIME_DIR: folder },
    },
  );
  const headers = { authorization: `token ${token}` };
  const kernelId = await startKernel(`http://127.0.0.1:${port}/api/kernels`, headers);
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/kernels/${kernelId}/channels`, {
    headers,
  });
  await once(socket, 'open');
  return {
    name: 'Jupyter Server as it comes',
    measure: () => execute(socket, code),
    async [Symbol.asyncDispose]() {
      socket.terminate();
      const exited = once(server, 'exit');
      server.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/** The server takes about a second before it listens. */
async function startKernel(url: string, headers: Record<string, string>): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    try {
      const response = await fetch(url, { method: 'POST', headers, body: '{}' });
      const { id } = (await response.json()) as { id: string };
      return id;
    } catch (error) {
      if (attempt === 100) throw error;
      await pause(100);
    }
  }
}

async function execute(socket: WebSocket, code: string): Promise<number> {
  const msg_id = randomUUID();
  const message = {
    channel: 'shell',
    header: {
      msg_id,
      session: 'bench',
      username: '',
      date: new Date(),
      msg_type: 'execute_request',
      version: '5.3',
    },
    parent_header: {},
    metadata: {},
    content: {
      code,
      silent: false,
      store_history: true,
      user_expressions: {},
      allow_stdin: false,
      stop_on_error: true,
    },
  };
  const started = performance.now();
  const finished = waitForEnd(socket, msg_id);
  socket.send(JSON.stringify(message));
  const printed = await finished;
  const elapsedMs = performance.now() - started;
  if (printed !== '2\n') throw new Error(`Jupyter Server printed ${JSON.stringify(printed)}.`);
  return elapsedMs;
}

/** What was printed, once both the reply and the kernel's word that it is idle are there. */
function waitForEnd(socket: WebSocket, requestId: string): Promise<string> {
  return new Promise((resolve) => {
    let printed = '';
    const awaited = new Set(['execute_reply', 'idle']);
    const onMessage = (data: Buffer): void => {
      const { parent_header, msg_type, content } = JSON.parse(data.toString()) as KernelMessage;
      if (parent_header.msg_id !== requestId) return;
      if (msg_type === 'stream') printed += content.text ?? '';
      awaited.delete(msg_type === 'status' ? (content.execution_state ?? '') : msg_type);
      if (awaited.size > 0) return;
      socket.off('message', onMessage);
      resolve(printed);
    };
    socket.on('message', onMessage);
  });
}
