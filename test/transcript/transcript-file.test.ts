import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RecordedRun } from '../../src/agent/recorded-run.js';
import { readRuns } from '../../src/agent/run-file.js';
import { checkTranscriptFile, saveTranscript } from '../../src/transcript/transcript-file.js';
import { temporaryFolder } from '../cli/recorded-file.js';

const run: RecordedRun = {
  id: 'a',
  prompt: 'q',
  contents: [
    { role: 'user', parts: [{ text: 'q' }] },
    { role: 'model', parts: [{ text: 'It is 1.' }] },
  ],
  metadata: { model: 'm' },
};
const KEEP = { force: false };

describe('a transcript', () => {
  it('takes the form that the ending names, and the machine-readable ones are read back', async () => {
    await using folder = await temporaryFolder();
    const texts: Record<string, string> = {};
    for (const ending of ['ipynb', 'md', 'html', 'jsonl']) {
      const path = await saveTranscript(run, join(folder.path, `a.${ending}`), KEEP);
      texts[ending] = await readFile(path, 'utf8');
    }
    expect(texts['md']).toMatch(/^# /);
    expect(texts['html']).toMatch(/^<!doctype html>/);
    for (const ending of ['ipynb', 'jsonl']) {
      for await (const read of readRuns(join(folder.path, `a.${ending}`)))
        expect(read).toEqual({ ...run, id: ending === 'jsonl' ? 'a' : 'a.ipynb' });
    }
    expect((await readdir(folder.path)).sort()).toEqual(['a.html', 'a.ipynb', 'a.jsonl', 'a.md']);
  });

  it('never takes the place of a file that is there, unless that is wanted', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'a.jsonl');
    await writeFile(path, 'mine');
    await expect(checkTranscriptFile(path, KEEP)).rejects.toMatchObject({ code: 'BAD_OPTION' });
    expect(await saveTranscript(run, path, KEEP)).toBe(join(folder.path, 'a-2.jsonl'));
    expect(await readFile(path, 'utf8')).toBe('mine');
    await checkTranscriptFile(path, { force: true });
    expect(await saveTranscript(run, path, { force: true })).toBe(path);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ id: 'a' });
  });

  it.each([
    ['a missing folder', 'no/a.md', /there is no folder/],
    ['an ending unknown to us', 'a.docx', /ends in none of \.ipynb, \.md, \.html, \.jsonl/],
    ['a file as a folder', 'file/a.md', /there is no folder/],
  ])('is refused for %s', async (_worry, name, message) => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'file'), '');
    await expect(checkTranscriptFile(join(folder.path, name), KEEP)).rejects.toThrow(message);
  });

  it('leaves nothing behind where it cannot be written', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'no', 'a.md');
    await expect(saveTranscript(run, path, KEEP)).rejects.toMatchObject({ code: 'BAD_OPTION' });
    expect(await readdir(folder.path)).toEqual([]);
  });
});
