import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../../src/sandbox/sandbox.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import { connect } from './connected.js';

interface Sent {
  method: string;
  path: string;
  body: { type?: string; format?: string; content?: string; chunk?: number };
}

/** A runtime's file proxy: remembers what was put, answers 404 to any token but the current one. */
class FileProxy implements AsyncDisposable {
  token = 'proxy-1';
  readonly sent: Sent[] = [];
  readonly folders = new Map<string, object[]>();
  readonly files = new Map<string, string>();
  readonly tokens: (string | undefined)[] = [];
  url = '';
  readonly #server = createServer((request, response) => {
    void this.#answer(request).then(({ status, body }) => {
      response.writeHead(status).end(body);
    });
  });

  static async start(): Promise<FileProxy> {
    const proxy = new FileProxy();
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage): Promise<{ status: number; body: string }> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const token = request.headers['x-colab-runtime-proxy-token'];
    this.tokens.push(String(token));
    if (token !== this.token) return { status: 404, body: '' };
    const path = decodeURIComponent(request.url ?? '');
    if (request.method === 'PUT') {
      this.sent.push({ method: 'PUT', path, body: JSON.parse(text) as Sent['body'] });
      return { status: 201, body: '{}' };
    }
    const folder = this.folders.get(path);
    if (folder !== undefined) return { status: 200, body: JSON.stringify({ content: folder }) };
    const file = this.files.get(path);
    return file === undefined ? { status: 404, body: '' } : { status: 200, body: file };
  }
}

async function opened(server: ScriptedColab, proxy: FileProxy, expireTimes: string[] = []) {
  const tell = (): void => {
    server.answer('get_runtime', (call) => {
      const expireTime = expireTimes.shift() ?? '2099-01-01T00:00:00Z';
      const connectionInfo = { url: proxy.url, token: proxy.token, expireTime };
      call.result({ name: 'runtimes/r1', connectionInfo });
    });
  };
  for (let round = 0; round < 5; round++) tell();
  const sandbox = await connect(server);
  return { sandbox, session: await sandbox.openSession() };
}

async function withSession(
  work: (session: Session, proxy: FileProxy, server: ScriptedColab) => Promise<void>,
  expireTimes?: string[],
): Promise<void> {
  await using server = await ScriptedColab.start();
  await using proxy = await FileProxy.start();
  const { sandbox, session } = await opened(server, proxy, expireTimes);
  await work(session, proxy, server);
  await sandbox.close();
}

describe('uploading', () => {
  it('makes folders one level at a time and sends names of any kind whole', () =>
    withSession(async (session, proxy) => {
      await session.uploadFile(`a b/ü"'/50% #?.csv`, Buffer.from([0, 255]));
      expect(proxy.sent.map(({ path, body }) => [path, body.type])).toEqual([
        ['/api/contents/content/a b', 'directory'],
        [`/api/contents/content/a b/ü"'`, 'directory'],
        [`/api/contents/content/a b/ü"'/50% #?.csv`, 'file'],
      ]);
      expect(proxy.sent[2]?.body).toEqual({ type: 'file', format: 'base64', content: 'AP8=' });
    }));

  it('sends big files in numbered pieces, the last of them marked', () =>
    withSession(async (session, proxy) => {
      const content = new Uint8Array(17 * 1024 * 1024).map((_, index) => index % 251);
      await session.uploadFile('big.bin', content);
      expect(proxy.sent.map(({ body }) => body.chunk)).toEqual([1, 2, -1]);
      const received = proxy.sent.map(({ body }) => Buffer.from(body.content ?? '', 'base64'));
      expect(Buffer.concat(received).equals(content)).toBe(true);
    }));

  it('sends an empty file', () =>
    withSession(async (session, proxy) => {
      await session.uploadFile('empty', new Uint8Array());
      expect(proxy.sent).toMatchObject([{ body: { content: '' } }]);
    }));

  it.each(['', '/etc/passwd', '../up', 'a/../../b', '.'])('refuses the path %j', (path) =>
    withSession(async (session, proxy) => {
      await expect(session.uploadFile(path, new Uint8Array())).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      expect(proxy.sent).toEqual([]);
    }),
  );
});

describe('listing and downloading', () => {
  it('goes through folders, leaves hidden files out and sorts by path', () =>
    withSession(async (session, proxy) => {
      const file = { type: 'file', size: 3, last_modified: '2026-01-01T00:00:00Z' };
      proxy.folders.set('/api/contents/content?content=1', [
        { ...file, name: 'z.txt' },
        { name: 'dir', type: 'directory', size: null },
        { ...file, name: '.hidden' },
      ]);
      proxy.folders.set('/api/contents/content/dir?content=1', [{ ...file, name: 'a.txt' }]);
      expect(await session.listFiles()).toEqual([
        { path: 'dir/a.txt', sizeBytes: 3, modifiedAt: '2026-01-01T00:00:00Z' },
        { path: 'z.txt', sizeBytes: 3, modifiedAt: '2026-01-01T00:00:00Z' },
      ]);
      proxy.files.set('/files/content/dir/a.txt', 'abc');
      expect(Buffer.from(await session.downloadFile('dir/a.txt')).toString()).toBe('abc');
    }));

  it('of a file that is not there is NOT_FOUND, names it and asks for no new token', () =>
    withSession(async (session, _proxy, server) => {
      await expect(session.downloadFile('gone.csv')).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: expect.stringContaining('/content/gone.csv') as string,
      });
      expect(server.callsOf('get_runtime')).toHaveLength(1);
    }));
});

describe('the proxy token', () => {
  it('is fetched once while it lasts', () =>
    withSession(async (session, _proxy, server) => {
      await session.uploadFile('a', new Uint8Array());
      await session.uploadFile('b', new Uint8Array());
      expect(server.callsOf('get_runtime')).toHaveLength(1);
    }));

  it('is renewed before it ends', () =>
    withSession(
      async (session, _proxy, server) => {
        await session.uploadFile('a', new Uint8Array());
        await session.uploadFile('b', new Uint8Array());
        expect(server.callsOf('get_runtime')).toHaveLength(2);
      },
      [new Date(Date.now() + 60_000).toISOString()],
    ));

  it('is renewed once where 404 may mean that it has ended', () =>
    withSession(
      async (session, proxy, server) => {
        proxy.files.set('/files/content/a', 'abc');
        await session.downloadFile('a');
        proxy.token = 'proxy-2';
        expect(Buffer.from(await session.downloadFile('a')).toString()).toBe('abc');
        expect(proxy.tokens).toEqual(['proxy-1', 'proxy-1', 'proxy-2']);
        expect(server.callsOf('get_runtime')).toHaveLength(2);
      },
      [new Date(Date.now() + 400_000).toISOString()],
    ));

  it('goes to https only, but for this machine', async () => {
    await using server = await ScriptedColab.start();
    const sandbox = await connect(server);
    const session = await sandbox.openSession();
    server.answer('get_runtime', (call) => {
      const connectionInfo = { url: 'http://runtime.example', token: 't', expireTime: '' };
      call.result({ name: 'runtimes/r1', connectionInfo });
    });
    await expect(session.listFiles()).rejects.toMatchObject({ code: 'NOT_COLAB' });
    await sandbox.close();
  });
});
