import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectColab } from '../../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import type { Sandbox, Session } from '../../../src/sandbox/sandbox.js';
import { ChildProgram } from '../../support/child-program.js';
import type { EmbeddedColab } from '../../support/embedded-colab.js';
import { startEmbeddedColab } from '../../support/embedded-colab.js';
import { LONG_MS, quickly } from './connected.js';

const limit = { timeoutMs: LONG_MS };
let clockMs = Date.now();
let folder: string;
let server: EmbeddedColab;
let sandbox: Sandbox;
let session: Session;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'));
  server = await startEmbeddedColab({ now: () => clockMs });
  const { url, token } = server;
  sandbox = await connectColab({ url, signIn: fixedToken(token), policy: quickly });
  session = await sandbox.openSession();
});

afterAll(async () => {
  await sandbox.close();
  await server.close();
  await rm(folder, { recursive: true });
});

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

describe('files on a real kernel', () => {
  it('arrive where scripts start, wherever a script has gone since', async () => {
    await session.execute('import os\nos.makedirs("gone")\nos.chdir("gone")', limit);
    await session.uploadFile('where.txt', Buffer.from('here'));
    await session.execute('os.chdir("..")', limit);
    expect(await session.execute('open("where.txt").read()', limit)).toMatchObject({
      value: "'here'",
    });
  });

  it('leave no trace of their check in the session', async () => {
    const names = 'print(sorted(name for name in globals() if not name.startswith("_")), _)';
    await session.execute('"before"', limit);
    const before = await session.execute(names, limit);
    await session.uploadFile('traceless.txt', Buffer.from('x'));
    expect((await session.execute(names, limit)).stdout).toBe(before.stdout);
  });

  it('go on with a new token when the old one has ended, which only 404 tells', async () => {
    const content = Buffer.alloc(17 * 1024 * 1024, 'ü');
    await session.uploadFile('hour.bin', content);
    clockMs += 3_700_000;
    expect((await session.downloadFile('hour.bin')).length).toBe(content.length);
    clockMs += 3_700_000;
    await session.uploadFile('hour.bin', content);
    clockMs += 3_700_000;
    await expect(session.downloadFile('no such file')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of 300 MB go up and down without being in memory', async () => {
    const path = join(folder, 'large.bin');
    const file = await open(path, 'w');
    for (let piece = 0; piece < 300; piece++) await file.write(Buffer.alloc(1_000_000, piece));
    await file.close();
    await using carrier = new ChildProgram('file-carrier', [
      server.url,
      server.token,
      folder,
      'large.bin',
    ]);
    const growthBytes = Number(await carrier.line());
    expect(await sha256Of(`${path}.back`)).toBe(await sha256Of(path));
    expect(growthBytes).toBeLessThan(120_000_000);
  }, 300_000);
});
