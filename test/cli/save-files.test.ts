import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveFiles } from '../../src/cli/save-files.js';
import { temporaryFolder } from './recorded-file.js';

const file = (name: string, content = name) => ({
  name,
  mimeType: 'text/plain',
  sizeBytes: content.length,
  bytes: () => Promise.resolve(new TextEncoder().encode(content)),
});

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
    const paths = await saveFiles([file(name, 'x')], out);
    expect(paths.get(name)).toBe(join(out, saved));
    expect(await readFile(join(out, saved), 'utf8')).toBe('x');
    expect(await readdir(folder.path)).toEqual(['out']);
  });
});

describe('a name that is taken', () => {
  it('gets a number, also within one run', async () => {
    await using folder = await temporaryFolder();
    await saveFiles([file('a/chart.png', '1'), file('noext', '1')], folder.path);
    const paths = await saveFiles([file('a/chart.png', '2'), file('noext', '2')], folder.path);
    expect([...paths.values()]).toEqual([
      join(folder.path, 'a', 'chart-2.png'),
      join(folder.path, 'noext-2'),
    ]);
    expect(await readFile(join(folder.path, 'a', 'chart.png'), 'utf8')).toBe('1');
  });
});
