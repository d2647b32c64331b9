import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ResultFile } from '../../src/agent/events.js';
import { collectFiles } from '../../src/agent/result-file.js';
import { RunFiles } from '../../src/agent/run-files.js';
import { checkOutDirectory, saveFiles } from '../../src/cli/save-files.js';
import { ScriptedSandbox } from '../support/scripted-sandbox.js';
import { temporaryFolder } from './recorded-file.js';

/** A result's file, as a run gives it. */
async function file(name: string, content = name): Promise<ResultFile> {
  const files = new RunFiles();
  const session = await new ScriptedSandbox().openSession();
  const modifiedAt = '2026-01-01T00:00:00Z';
  files.addWritten([{ path: name, sizeBytes: content.length, modifiedAt }]);
  const [made] = await collectFiles(files, {
    session: { ...session, downloadFile: () => Promise.resolve(Buffer.from(content)) },
    lend: () => Promise.reject(new Error('Nothing is lent.')),
    keptBytes: 1e6,
    signal: new AbortController().signal,
  });
  if (made === undefined) throw new Error('There is no file.');
  return made;
}

describe('names that come from a sandbox', () => {
  it.each([
    ['../up.txt', 'up.txt'],
    ['../../../../etc/passwd', 'etc/passwd'],
    ['/etc/passwd', 'etc/passwd'],
    ['a/../b.txt', 'a/b.txt'],
    ['./a//b.txt', 'a/b.txt'],
    ['..', 'unnamed'],
    ['', 'unnamed'],
    ['a\\..\\b', 'a_.._b'],
    ['new\nline\u0000.txt', 'new_line_.txt'],
  ])('%j stays inside as %s', async (name, saved) => {
    await using folder = await temporaryFolder();
    const out = join(folder.path, 'out');
    const paths = await saveFiles([await file(name, 'x')], out);
    expect(paths.get(name)).toBe(join(out, saved));
    expect(await readFile(join(out, saved), 'utf8')).toBe('x');
    expect(await readdir(folder.path)).toEqual(['out']);
  });
});

describe('a name that is taken', () => {
  it('gets a number, also within one run', async () => {
    await using folder = await temporaryFolder();
    const made = (text: string) => Promise.all([file('a/chart.png', text), file('noext', text)]);
    await saveFiles(await made('1'), folder.path);
    const paths = await saveFiles(await made('2'), folder.path);
    expect([...paths.values()]).toEqual([
      join(folder.path, 'a', 'chart-2.png'),
      join(folder.path, 'noext-2'),
    ]);
    expect(await readFile(join(folder.path, 'a', 'chart.png'), 'utf8')).toBe('1');
  });

  it('is replaced only by force, a link by the file itself', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'kept.txt'), 'mine');
    await symlink('kept.txt', join(folder.path, 'link.txt'));
    const made = await Promise.all([file('link.txt', 'new')]);
    await saveFiles(made, folder.path, { force: true });
    expect(await readFile(join(folder.path, 'link.txt'), 'utf8')).toBe('new');
    expect(await readFile(join(folder.path, 'kept.txt'), 'utf8')).toBe('mine');
  });

  it('does not count as free where it is a link to nowhere', async () => {
    await using folder = await temporaryFolder();
    await symlink('/nowhere/to/be', join(folder.path, 'a.txt'));
    const paths = await saveFiles([await file('a.txt')], folder.path);
    expect(paths.get('a.txt')).toBe(join(folder.path, 'a-2.txt'));
  });
});

describe('saving', () => {
  it('follows no link out of the folder, and saves the other files', async () => {
    await using folder = await temporaryFolder();
    const [out, outside] = [join(folder.path, 'out'), join(folder.path, 'outside')];
    await mkdir(out);
    await mkdir(outside);
    await symlink(outside, join(out, 'sub'));
    const saved = new Map<string, string>();
    const made = [await file('sub/deep/x.txt'), await file('y.txt')];
    await expect(saveFiles(made, out, { saved })).rejects.toThrow(/leads out of/);
    expect(await readdir(outside)).toEqual([]);
    expect([...saved.keys()]).toEqual(['y.txt']);
  });

  it('of more than the disk holds is refused before anything is fetched', async () => {
    await using folder = await temporaryFolder();
    const huge = { ...(await file('huge.bin')), sizeBytes: Number.MAX_SAFE_INTEGER };
    await expect(saveFiles([huge], folder.path)).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('that fails half-way leaves nothing', async () => {
    await using folder = await temporaryFolder();
    const missing = await new ScriptedSandbox().openSession();
    const files = new RunFiles();
    files.addWritten([{ path: 'gone.bin', sizeBytes: 5, modifiedAt: '' }]);
    const made = await collectFiles(files, {
      session: undefined,
      lend: (_, work) => work(missing),
      keptBytes: 0,
      signal: new AbortController().signal,
    });
    await expect(saveFiles(made, folder.path)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await readdir(folder.path)).toEqual([]);
  });

  it.each(['', '  '])('into a folder without a name is refused: %j', async (directory) => {
    await expect(checkOutDirectory(directory)).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });
});
