import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../../src/sandbox/sandbox.js';
import type { FileRequest } from '../../support/file-proxy.js';
import { FileProxy } from '../../support/file-proxy.js';
import { ScriptedColab } from '../../support/scripted-colab.js';
import { connect } from './connected.js';

const NEVER = '2099-01-01T00:00:00Z';

/** Lets get_runtime name the proxy with its current token; one expire time a call, then one far away. */
function introduce(server: ScriptedColab, proxy: FileProxy, expireTimes: string[] = []): void {
  for (let round = 0; round < 9; round++) {
    server.answer('get_runtime', (call) => {
      const expireTime = expireTimes.shift() ?? NEVER;
      const connectionInfo = { url: proxy.url, token: proxy.token, expireTime };
      call.result({ name: 'runtimes/r1', connectionInfo });
    });
  }
}

async function withSession(
  work: (session: Session, proxy: FileProxy, server: ScriptedColab) => Promise<void>,
  expireTimes?: string[],
): Promise<void> {
  await using server = await ScriptedColab.start();
  await using proxy = await FileProxy.start();
  introduce(server, proxy, expireTimes);
  proxy.answerChecks(server);
  await using sandbox = await connect(server);
  await work(await sandbox.openSession(), proxy, server);
}

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
const big = new Uint8Array(17 * 1024 * 1024).map((_, index) => (index * 31) % 251);
const isChunk = (chunk: number) => (request: FileRequest) => request.body.chunk === chunk;
const isDownload = ({ path }: FileRequest): boolean => path.startsWith('/files/');

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('uploading', () => {
  it('makes folders one level at a time and sends names of any kind whole', () =>
    withSession(async (session, proxy) => {
      await session.uploadFile(`a b/ü"'/50% #?.csv`, Buffer.from([0, 255]));
      expect(proxy.puts.map(({ path, body }) => [path, body.type])).toEqual([
        ['/api/contents/content/a b', 'directory'],
        [`/api/contents/content/a b/ü"'`, 'directory'],
        [`/api/contents/content/a b/ü"'/50% #?.csv`, 'file'],
      ]);
      expect(proxy.puts[2]?.body).toEqual({ type: 'file', format: 'base64', content: 'AP8=' });
    }));

  it('sends big files in numbered pieces of at most 8 MiB, the last of them marked', () =>
    withSession(async (session, proxy) => {
      await session.uploadFile('big.bin', big);
      expect(proxy.puts.map(({ body }) => body.chunk)).toEqual([1, 2, -1]);
      const sizes = proxy.puts.map(({ body }) => Buffer.from(body.content ?? '', 'base64').length);
      expect(sizes).toEqual([8 * 1024 * 1024, 8 * 1024 * 1024, 1024 * 1024]);
      expect(proxy.files.get('content/big.bin')?.equals(big)).toBe(true);
    }));

  it('reads a file of this machine piece by piece', () =>
    withSession(async (session, proxy) => {
      const path = join(folder, 'big.bin');
      await writeFile(path, big);
      await session.uploadFile('data/big.bin', { path });
      expect(proxy.files.get('content/data/big.bin')?.equals(big)).toBe(true);
    }));

  it('of a file that cannot be read sends nothing', () =>
    withSession(async (session, proxy) => {
      const path = join(folder, 'missing');
      await expect(session.uploadFile('a/b', { path })).rejects.toMatchObject({
        code: 'UNREADABLE_FILE',
        message: expect.stringContaining(path) as string,
      });
      expect(proxy.requests).toEqual([]);
    }));

  it('sends an empty file', () =>
    withSession(async (session, proxy) => {
      await session.uploadFile('empty', new Uint8Array());
      expect(proxy.puts).toMatchObject([{ body: { content: '' } }]);
      expect(proxy.files.get('content/empty')).toHaveLength(0);
    }));

  it.each(['', '/etc/passwd', '../up', 'a/../../b', '.'])('refuses the path %j', (path) =>
    withSession(async (session, proxy) => {
      await expect(session.uploadFile(path, new Uint8Array())).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      expect(proxy.requests).toEqual([]);
    }),
  );

  it('begins again where what the kernel sees is not what was sent', () =>
    withSession(async (session, proxy) => {
      proxy.spoil(isChunk(2), 'damaged');
      await session.uploadFile('big.bin', big);
      expect(proxy.puts.map(({ body }) => body.chunk)).toEqual([1, 2, -1, 1, 2, -1]);
      expect(proxy.files.get('content/big.bin')?.equals(big)).toBe(true);
    }));

  it('gives up on a file that never arrives whole', () =>
    withSession(async (session, proxy) => {
      proxy.spoil(({ body }) => body.type === 'file', 'damaged', 'damaged', 'damaged');
      await expect(session.uploadFile('a.csv', Buffer.from('abc'))).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('/content/a.csv') as string,
      });
      expect(proxy.puts).toHaveLength(3);
    }));

  it.each([
    ['was taken though the answer was lost', 'answer-lost', [1, 2, -1]],
    ['was lost on its way', 'lost', [1, 2, 2, -1]],
  ] as const)('a piece that %s is in the file once', (_fate, mishap, sent) =>
    withSession(async (session, proxy) => {
      proxy.spoil(isChunk(2), mishap);
      await session.uploadFile('big.bin', big);
      expect(proxy.puts.map(({ body }) => body.chunk)).toEqual(sent);
      expect(proxy.files.get('content/big.bin')?.equals(big)).toBe(true);
    }),
  );

  it('a first piece whose answer was lost is sent again, since it begins the file anew', () =>
    withSession(async (session, proxy) => {
      proxy.spoil(isChunk(1), 'answer-lost');
      await session.uploadFile('big.bin', big);
      expect(proxy.puts.map(({ body }) => body.chunk)).toEqual([1, 1, 2, -1]);
      expect(proxy.files.get('content/big.bin')?.equals(big)).toBe(true);
    }));

  it('begins again where somebody else wrote into the file meanwhile', () =>
    withSession(async (session, proxy) => {
      const meddle = (request: FileRequest): boolean => {
        if (request.body.chunk !== 2) return false;
        proxy.files.set('content/big.bin', Buffer.from('theirs'));
        return true;
      };
      proxy.spoil(meddle, 'lost');
      await session.uploadFile('big.bin', big);
      expect(proxy.puts.map(({ body }) => body.chunk)).toEqual([1, 2, 1, 2, -1]);
      expect(proxy.files.get('content/big.bin')?.equals(big)).toBe(true);
    }));

  it('waits with the check for a script that runs in the session', () =>
    withSession(async (session, proxy, server) => {
      await using slow = await ScriptedColab.start();
      introduce(slow, proxy);
      await using sandbox = await connect(slow);
      const busy = await sandbox.openSession();
      const started = new Promise<() => void>((resolve) => {
        slow.answer('execute_code', (call) => {
          resolve(() => {
            proxy.answerChecks(slow);
            call.result({ executionCount: 99 });
          });
        });
      });
      const script = busy.execute('long()', { timeoutMs: 60_000 });
      const finish = await started;
      const upload = busy.uploadFile('a', Buffer.from('abc'));
      // The other session's upload shows that the proxy has had the time for this one's.
      await session.uploadFile('b', Buffer.from('abc'));
      expect(slow.callsOf('execute_code')).toHaveLength(1);
      finish();
      await Promise.all([script, upload]);
      expect(server.callsOf('execute_code')).toHaveLength(1);
      expect(slow.callsOf('execute_code')).toHaveLength(2);
    }));

  it('is cancelled between the pieces', () =>
    withSession(async (session, proxy) => {
      const cancelling = new AbortController();
      const cancel = (request: FileRequest): boolean => {
        if (request.body.chunk === 2) cancelling.abort(new Error('enough'));
        return false;
      };
      proxy.spoil(cancel, 'lost');
      const upload = session.uploadFile('big.bin', big, { signal: cancelling.signal });
      await expect(upload).rejects.toThrow('enough');
      expect(proxy.puts.map(({ body }) => body.chunk)).not.toContain(-1);
    }));
});

describe('listing', () => {
  it('goes through folders, leaves hidden files out and sorts by path', () =>
    withSession(async (session, proxy) => {
      proxy.folders.add('content/dir');
      proxy.files.set('content/z.txt', Buffer.from('abc'));
      proxy.files.set('content/.hidden', Buffer.from('abc'));
      proxy.files.set('content/dir/a.txt', Buffer.from('abc'));
      expect(await session.listFiles()).toEqual([
        { path: 'dir/a.txt', sizeBytes: 3, modifiedAt: '2026-01-01T00:00:00Z' },
        { path: 'z.txt', sizeBytes: 3, modifiedAt: '2026-01-01T00:00:00Z' },
      ]);
    }));

  it('comes to an end where folders have none, upper ones first', () =>
    withSession(async (session, proxy) => {
      let level = ['content'];
      for (let depth = 0; depth < 9; depth += 1) {
        level = level.flatMap((above) => [`${above}/a`, `${above}/b`]);
        for (const name of level) proxy.folders.add(name);
      }
      for (const name of proxy.folders) proxy.files.set(`${name}/z.txt`, Buffer.from(name));
      const paths = (await session.listFiles()).map(({ path }) => path);
      expect(paths).toHaveLength(200);
      expect(paths).toContain('z.txt');
      expect(paths).toContain('b/b/b/b/b/b/z.txt');
    }));
});

/** Both ways to fetch a file, as bytes. */
const ways = [
  ['into memory', async (session: Session) => Buffer.from(await session.downloadFile('a.bin'))],
  [
    'onto the disk',
    async (session: Session) => {
      const target = join(folder, 'a.bin');
      await session.saveFile('a.bin', target);
      expect(await readdir(folder)).toEqual(['a.bin']);
      return readFile(target);
    },
  ],
] as const;

describe.each(ways)('downloading %s', (_name, fetched) => {
  const content = Buffer.from(big.subarray(0, 1_000_000));

  it.each([true, false])('a whole file, its length told: %s', (tellsLength) =>
    withSession(async (session, proxy) => {
      proxy.tellsLength = tellsLength;
      proxy.files.set('content/a.bin', content);
      expect((await fetched(session)).equals(content)).toBe(true);
    }),
  );

  it('an empty file', () =>
    withSession(async (session, proxy) => {
      proxy.files.set('content/a.bin', Buffer.alloc(0));
      expect(await fetched(session)).toHaveLength(0);
    }));

  it.each([true, false])('goes on where it was cut, its length told: %s', (tellsLength) =>
    withSession(async (session, proxy) => {
      proxy.tellsLength = tellsLength;
      proxy.files.set('content/a.bin', content);
      proxy.spoil(isDownload, { cutAfterBytes: 400_000 }, { cutAfterBytes: 300_000 });
      expect((await fetched(session)).equals(content)).toBe(true);
      // What was on its way when the connection broke may be lost with it.
      const starts = proxy.requests
        .filter(isDownload)
        .map(({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0));
      expect(starts).toHaveLength(3);
      expect(starts[1]).toBeGreaterThan(0);
      expect(starts[2]).toBeGreaterThan(starts[1] ?? Infinity);
    }),
  );

  it('begins again where the server knows no ranges', () =>
    withSession(async (session, proxy) => {
      proxy.knowsRanges = false;
      proxy.files.set('content/a.bin', content);
      proxy.spoil(isDownload, { cutAfterBytes: 400_000 });
      expect((await fetched(session)).equals(content)).toBe(true);
    }));

  it.each([
    ['longer', Buffer.from(big.subarray(1_000_000, 3_000_000))],
    ['shorter', Buffer.from('short')],
  ])('begins again where the file changed meanwhile and is %s', (_kind, changed) =>
    withSession(async (session, proxy) => {
      proxy.files.set('content/a.bin', content);
      proxy.spoil(isDownload, { cutAfterBytes: 400_000 });
      const change = ({ range }: FileRequest): boolean => {
        if (range === undefined) return false;
        proxy.modifiedAt = 'Fri, 02 Jan 2026 00:00:00 GMT';
        proxy.files.set('content/a.bin', changed);
        return false;
      };
      proxy.spoil(change, 'lost');
      expect((await fetched(session)).equals(changed)).toBe(true);
    }),
  );

  it('gives up where answer after answer brings nothing, and leaves nothing behind', () =>
    withSession(async (session, proxy) => {
      proxy.files.set('content/a.bin', content);
      const cuts = Array.from({ length: 9 }, () => ({ cutAfterBytes: 0 }));
      proxy.spoil(isDownload, { cutAfterBytes: 400_000 }, ...cuts);
      await expect(fetched(session)).rejects.toMatchObject({ code: 'NETWORK', isRetryable: true });
      expect(await readdir(folder)).toEqual([]);
    }));

  it('asks for the bytes as they are', () =>
    withSession(async (session, proxy) => {
      proxy.files.set('content/a.bin', content);
      await fetched(session);
      expect(proxy.headers.at(-1)?.['accept-encoding']).toBe('identity');
    }));
});

describe('saving', () => {
  it('replaces a file only when the new one is whole', () =>
    withSession(async (session, proxy) => {
      const target = join(folder, 'kept');
      await writeFile(target, 'old');
      await expect(session.saveFile('missing', target)).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      expect(await readFile(target, 'utf8')).toBe('old');
      proxy.files.set('content/there', Buffer.from('new'));
      await session.saveFile('there', target);
      expect(await readFile(target, 'utf8')).toBe('new');
      expect(await readdir(folder)).toEqual(['kept']);
    }));

  it('where it may not write asks for nothing', () =>
    withSession(async (session, proxy) => {
      const target = join(folder, 'no', 'such', 'folder');
      await expect(session.saveFile('a', target)).rejects.toMatchObject({ code: 'BAD_OPTION' });
      expect(proxy.requests).toEqual([]);
    }));
});

describe('a 404', () => {
  it('of a file that is not there is NOT_FOUND, names it and asks for no new token', () =>
    withSession(async (session, _proxy, server) => {
      await expect(session.downloadFile('gone.csv')).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: expect.stringContaining('/content/gone.csv') as string,
      });
      expect(server.callsOf('get_runtime')).toHaveLength(1);
    }));

  it('of a token that has ended early is mended with a new one, whatever its end was said to be', () =>
    withSession(async (session, proxy, server) => {
      proxy.files.set('content/a', Buffer.from('abc'));
      await session.downloadFile('a');
      proxy.token = 'proxy-2';
      expect(Buffer.from(await session.downloadFile('a')).toString()).toBe('abc');
      expect(server.callsOf('get_runtime')).toHaveLength(2);
      expect(proxy.tokens.at(-1)).toBe('proxy-2');
    }));

  it('in a folder that is not there is NOT_FOUND after one new token', () =>
    withSession(async (session, _proxy, server) => {
      await expect(session.downloadFile('no/such')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(server.callsOf('get_runtime')).toHaveLength(2);
    }));

  it('in the middle of an upload is mended, and no piece is doubled', () =>
    withSession(async (session, proxy) => {
      const end = (request: FileRequest): boolean => {
        if (request.body.chunk === 2 && proxy.token === 'proxy-1') proxy.token = 'proxy-2';
        return false;
      };
      proxy.spoil(end, 'lost');
      await session.uploadFile('big.bin', big);
      expect(proxy.puts.map(({ body }) => body.chunk)).toEqual([1, 2, 2, -1]);
      expect(proxy.files.get('content/big.bin')?.equals(big)).toBe(true);
    }));
});

describe('the proxy token', () => {
  it('is fetched once while it lasts, by many at once, too', () =>
    withSession(async (session, proxy, server) => {
      proxy.files.set('content/a', Buffer.from('abc'));
      await Promise.all(Array.from({ length: 5 }, () => session.downloadFile('a')));
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
      [inMs(60_000)],
    ));

  it('is renewed once by many that find it ended together', () =>
    withSession(async (session, proxy, server) => {
      proxy.files.set('content/a', Buffer.from('abc'));
      await session.downloadFile('a');
      proxy.token = 'proxy-2';
      await Promise.all(Array.from({ length: 5 }, () => session.downloadFile('a')));
      expect(server.callsOf('get_runtime')).toHaveLength(2);
    }));

  it('is not asked for over and over where the clocks differ', () =>
    withSession(
      async (session, _proxy, server) => {
        for (const name of ['a', 'b', 'c', 'd']) await session.uploadFile(name, new Uint8Array());
        expect(server.callsOf('get_runtime')).toHaveLength(2);
      },
      Array.from({ length: 9 }, () => inMs(-3_600_000)),
    ));

  it('is renewed once where 404 may mean that it has ended', () =>
    withSession(
      async (session, proxy, server) => {
        proxy.files.set('content/a', Buffer.from('abc'));
        await session.downloadFile('a');
        proxy.token = 'proxy-2';
        expect(Buffer.from(await session.downloadFile('a')).toString()).toBe('abc');
        expect(proxy.tokens).toEqual(['proxy-1', 'proxy-1', 'proxy-2']);
        expect(server.callsOf('get_runtime')).toHaveLength(2);
      },
      [inMs(400_000)],
    ));

  it('is in no error, though the server says it', () =>
    withSession(async (session, proxy) => {
      proxy.token = 'opaque-proxy-token';
      const body = 'no entry with opaque-proxy-token';
      proxy.spoil(isDownload, { status: 400, body });
      const error = await session.downloadFile('a').catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ message: expect.stringContaining('no entry with') as string });
      expect(JSON.stringify(error, everything)).not.toContain('opaque-proxy-token');
    }));

  it.each(['http://runtime.example', 'http://runtime.example/?token=opaque', 'ftp://x', ''])(
    'goes to https only, but for this machine: not to %j',
    async (url) => {
      await using server = await ScriptedColab.start();
      await using sandbox = await connect(server);
      const session = await sandbox.openSession();
      server.answer('get_runtime', (call) => {
        const connectionInfo = { url, token: 't', expireTime: '' };
        call.result({ name: 'runtimes/r1', connectionInfo });
      });
      const listing = session.listFiles();
      await expect(listing).rejects.toMatchObject({ code: 'NOT_COLAB' });
      await expect(listing).rejects.not.toThrow(/opaque/);
    },
  );
});

/** Also what JSON leaves out of errors. */
function everything(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return Object.fromEntries(
    Object.getOwnPropertyNames(value).map((name) => [name, Reflect.get(value, name) as unknown]),
  );
}
