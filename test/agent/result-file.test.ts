import { describe, expect, it } from 'vitest';
import { collectFiles } from '../../src/agent/result-file.js';
import { SandboxError } from '../../src/errors.js';
import type { Session } from '../../src/sandbox/sandbox.js';
import { ScriptedSandbox } from '../support/scripted-sandbox.js';

const { signal } = new AbortController();
const MIB = 1024 ** 2;

interface Stored {
  /** As listed; default what `content` has. */
  sizeBytes?: number;
  content?: Uint8Array | SandboxError;
}

/** A session whose working directory holds `files`. */
async function sessionWith(files: Record<string, Stored>): Promise<Session> {
  const session = await new ScriptedSandbox().openSession();
  const listed = Object.entries(files).map(([path, { sizeBytes, content }]) => ({
    path,
    sizeBytes: sizeBytes ?? (content instanceof Uint8Array ? content.length : 0),
    modifiedAt: '2026-01-01T00:00:00Z',
  }));
  return {
    ...session,
    listFiles: () => Promise.resolve(listed),
    downloadFile: (path) => {
      const { content = new Uint8Array() } = files[path] ?? {};
      return content instanceof Uint8Array ? Promise.resolve(content) : Promise.reject(content);
    },
  };
}

const collect = (session: Session) => collectFiles(session, new Map(), new Set(['in.csv']), signal);

describe('files that scripts made', () => {
  it('are what is new or changed, without the inputs', async () => {
    const session = await sessionWith({
      'in.csv': { content: Buffer.from('1') },
      'out.csv': { content: Buffer.from('1,2') },
    });
    const files = await collect(session);
    expect(files).toMatchObject([{ name: 'out.csv', mimeType: 'text/csv', sizeBytes: 3 }]);
    expect(Buffer.from((await files[0]?.bytes()) ?? []).toString()).toBe('1,2');
  });

  it('that cannot be had say so when they are read, and keep no other from being had', async () => {
    const absent = new SandboxError('NOT_FOUND', 'It leads nowhere.');
    const session = await sessionWith({
      broken: { content: absent },
      'ok.txt': { content: Buffer.from('ok') },
    });
    const [broken, ok] = await collect(session);
    await expect(broken?.bytes()).rejects.toBe(absent);
    expect(await ok?.bytes()).toEqual(Buffer.from('ok'));
  });

  it('are asked for no more where the sandbox is away', async () => {
    const away = new SandboxError('UNAVAILABLE', 'Down.', { isRetryable: true });
    const session = await sessionWith({ a: { content: away }, b: { content: Buffer.from('1') } });
    for (const file of await collect(session)) await expect(file.bytes()).rejects.toBe(away);
  });

  it('too large to be kept are named, and the smaller ones after them kept', async () => {
    const session = await sessionWith({
      'large.bin': { sizeBytes: 257 * MIB },
      'small.txt': { content: Buffer.from('1') },
    });
    const [large, small] = await collect(session);
    expect(large?.sizeBytes).toBe(257 * MIB);
    await expect(large?.bytes()).rejects.toThrow(/large\.bin.*256 MiB/);
    expect(await small?.bytes()).toEqual(Buffer.from('1'));
  });

  it('that grew since they were listed have the size of what was fetched', async () => {
    const session = await sessionWith({ log: { sizeBytes: 1, content: Buffer.from('grown') } });
    expect(await collect(session)).toMatchObject([{ sizeBytes: 5 }]);
  });
});
