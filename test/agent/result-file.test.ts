import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collectFiles } from '../../src/agent/result-file.js';
import { RunFiles } from '../../src/agent/run-files.js';
import { SandboxError } from '../../src/errors.js';
import type { Session } from '../../src/sandbox/sandbox.js';
import { temporaryFolder } from '../cli/recorded-file.js';
import { ScriptedSandbox } from '../support/scripted-sandbox.js';

const { signal } = new AbortController();
const MIB = 1024 ** 2;

interface Stored {
  /** As the script's watch told it; default what `content` has. */
  sizeBytes?: number;
  content?: Uint8Array | SandboxError;
}

/** What `collectFiles` makes of files that a script has written. */
async function collect(stored: Record<string, Stored>, keptBytes = 1e9) {
  const sandbox = new ScriptedSandbox();
  const files = new RunFiles((name) => name === 'in.csv');
  for (const [path, { sizeBytes, content }] of Object.entries(stored)) {
    if (content !== undefined) sandbox.files.set(path, content);
    const size = sizeBytes ?? (content instanceof Uint8Array ? content.length : 0);
    files.addWritten([{ path, sizeBytes: size, modifiedAt: '2026-01-01T00:00:00Z' }]);
  }
  const session = await sandbox.openSession();
  let isOpen = true;
  const lend = <T>(_: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> =>
    isOpen ? work(session) : Promise.reject(new SandboxError('CLOSED', 'The solver is closed.'));
  const made = await collectFiles(files, { session, lend, keptBytes, signal });
  const close = async (): Promise<void> => {
    isOpen = false;
    await session.close();
  };
  return { made, sandbox, close };
}

const text = async (bytes: Promise<Uint8Array> | undefined): Promise<string> =>
  Buffer.from((await bytes) ?? []).toString();

describe('files that scripts made', () => {
  it('are those that were told, without the inputs, each once', async () => {
    const { made } = await collect({
      'in.csv': { content: Buffer.from('1') },
      'out.csv': { content: Buffer.from('1,2') },
    });
    expect(made).toMatchObject([{ name: 'out.csv', mimeType: 'text/csv', sizeBytes: 3 }]);
    expect(await text(made[0]?.bytes())).toBe('1,2');
  });

  it('that cannot be had say so when they are read, and keep no other from being had', async () => {
    const absent = new SandboxError('NOT_FOUND', 'It leads nowhere.');
    const { made } = await collect({
      broken: { content: absent },
      'ok.txt': { content: Buffer.from('ok') },
    });
    await expect(made[0]?.bytes()).rejects.toBe(absent);
    await expect(made[0]?.saveTo('nowhere')).rejects.toBe(absent);
    expect(await text(made[1]?.bytes())).toBe('ok');
  });

  it('are asked for no more where the sandbox is away', async () => {
    const away = new SandboxError('UNAVAILABLE', 'Down.', { isRetryable: true });
    const { made } = await collect({ a: { content: away }, b: { content: Buffer.from('1') } });
    for (const file of made) await expect(file.bytes()).rejects.toBe(away);
  });

  it('that grew since they were told have the size of what was fetched', async () => {
    const { made } = await collect({ log: { sizeBytes: 1, content: Buffer.from('grown') } });
    expect(made).toMatchObject([{ sizeBytes: 5 }]);
  });

  it('outlive the sandbox, large ones outside memory and without a trace on the disk', async () => {
    const content = randomBytes(3 * MIB + 7);
    const before = await readdir(tmpdir());
    const { made, close } = await collect({ 'large.bin': { content } });
    await close();
    expect(Buffer.from((await made[0]?.bytes()) ?? []).equals(content)).toBe(true);
    await using folder = await temporaryFolder();
    const target = join(folder.path, 'saved.bin');
    await made[0]?.saveTo(target);
    expect((await readFile(target)).equals(content)).toBe(true);
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith('colab-solver-file-'));
    expect(left.filter((name) => !before.includes(name))).toEqual([]);
  });

  it('beyond what is kept are fetched when they are asked for, and say why not afterwards', async () => {
    const stored = {
      'a.txt': { content: Buffer.from('12') },
      'b.txt': { content: Buffer.from('3') },
    };
    const { made, sandbox, close } = await collect(stored, 1);
    sandbox.files.set('a.txt', Buffer.from('later'));
    expect(await text(made[0]?.bytes())).toBe('later');
    await using folder = await temporaryFolder();
    await made[0]?.saveTo(join(folder.path, 'a'));
    expect(await readFile(join(folder.path, 'a'), 'utf8')).toBe('later');
    await close();
    await expect(made[0]?.bytes()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(made[0]?.saveTo(join(folder.path, 'b'))).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await readdir(folder.path)).toEqual(['a']);
    expect(await text(made[1]?.bytes())).toBe('3');
  });

  it('are written over nothing unless that is wanted', async () => {
    const { made } = await collect({ 'a.txt': { content: Buffer.from('1') } });
    await using folder = await temporaryFolder();
    const target = join(folder.path, 'a.txt');
    await made[0]?.saveTo(target);
    await expect(made[0]?.saveTo(target)).rejects.toMatchObject({ code: 'FILE_EXISTS' });
    await made[0]?.saveTo(target, { force: true });
    expect(await readdir(folder.path)).toEqual(['a.txt']);
  });
});

describe('what scripts displayed', () => {
  it('becomes files with names of their own, beside those that scripts wrote', async () => {
    const files = new RunFiles();
    files.addWritten([{ path: 'display-1.png', sizeBytes: 1, modifiedAt: '' }]);
    const png = Buffer.from('png').toString('base64');
    const { kept } = await files.addDisplays([
      { index: 0, mimeTypes: [], data: { 'text/plain': 'x', 'image/png': png } },
      { index: 1, mimeTypes: [], data: { 'text/plain': 'only text' } },
      { index: 2, mimeTypes: [], data: { 'image/svg+xml': '<svg/>' } },
      { index: 3, mimeTypes: [], data: { 'application/vnd.plotly.v1+json': { data: [] } } },
      { index: 4, mimeTypes: [], isValue: true, data: { 'text/latex': '$x$', 'text/plain': 'x' } },
      { index: 5, mimeTypes: [], error: 'Too large.' },
    ]);
    expect(kept).toEqual([
      { name: 'display-2.png', mimeType: 'image/png', sizeBytes: 3 },
      { name: 'display-3.svg', mimeType: 'image/svg+xml', sizeBytes: 6 },
      {
        name: 'display-4.plotly.json',
        mimeType: 'application/vnd.plotly.v1+json',
        sizeBytes: 11,
      },
    ]);
  });
});
