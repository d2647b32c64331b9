import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CliProcess } from './cli-process.js';
import { commandLine } from './command-line.js';
import { result, runLine, script, temporaryFolder } from './recorded-file.js';

/** Three recorded runs that are a data set, too; the second one's answer is wrong. */
async function writeDataset(folder: string, code: (id: string) => string): Promise<string> {
  const path = join(folder, 'runs.jsonl');
  const lines = ['one', 'two', 'three'].map((id) => {
    const text = id === 'two' ? 'no idea' : id;
    const run = JSON.parse(runLine(id, [script(code(id)), result(id), { text }])) as object;
    return `${JSON.stringify({ ...run, target: id, metadata: { grader: 'exact' } })}\n`;
  });
  await writeFile(path, lines.join(''));
  return path;
}

const PRINTS = (id: string): string => `print("${id}")`;

describe('batch', () => {
  it('runs a file of recorded runs as a data set, goes on, is graded again and can be replayed', async () => {
    await using folder = await temporaryFolder();
    const path = await writeDataset(folder.path, PRINTS);
    const out = join(folder.path, 'out');
    const args = ['batch', path, '--out', out, '--model', `replay:${path}`];
    const first = await commandLine([...args, '--json', '--concurrency', '2']);
    expect(first.stderr).toContain('3 of 3');
    expect({ code: first.code, summary: JSON.parse(first.stdout) as unknown }).toMatchObject({
      code: 0,
      summary: {
        ...{ status: 'completed', total: 3, finished: 3, resumed: 0 },
        ...{ correct: 2, wrong: 1, errors: 0, executions: 3 },
      },
    });

    const second = await commandLine(args);
    expect(second.code).toBe(0);
    expect(second.stdout).toMatch(
      /^2 of 3 correct, 66\.7 % \(20\.8–93\.9\), 1 wrong\n3 of 3 samples finished \(nothing left to run, 3 from before\)/,
    );

    const replayed = await commandLine(['replay', join(out, 'transcripts', 'runs.jsonl')]);
    expect(replayed.stdout).toContain('3 of 3 judged outputs equal');

    const before = await readFile(join(out, 'results.jsonl'), 'utf8');
    const graded = await commandLine(['grade', out, '--json']);
    expect({ code: graded.code, summary: JSON.parse(graded.stdout) as unknown }).toMatchObject({
      code: 0,
      summary: { changed: 0, correct: 2, wrong: 1 },
    });
    const kept = await readdir(join(out, 'earlier'));
    expect(kept).toEqual([expect.stringMatching(/^results-.*\.jsonl$/)]);
    expect(await readFile(join(out, 'earlier', kept[0] ?? ''), 'utf8')).toBe(before);
  }, 60_000);

  it('ends with 3 where more failed than was allowed, and with 2 where something else was asked', async () => {
    await using folder = await temporaryFolder();
    const path = await writeDataset(folder.path, PRINTS);
    const strange = join(folder.path, 'strange.jsonl');
    await writeFile(strange, '{"id": "x", "prompt": "never recorded", "target": "x"}\n');
    const out = join(folder.path, 'out');
    const args = ['batch', strange, '--out', out, '--model', `replay:${path}`];
    const borne = await commandLine([...args, '--json']);
    expect(borne.code).toBe(0);
    expect(JSON.parse(borne.stdout)).toMatchObject({ errors: 1, wrong: 0, accuracy: null });
    expect(borne.stderr).toMatch(/error x: .*has no run/);
    const limited = await commandLine([...args, '--fail-on-error', '0']);
    expect(limited.code).toBe(3);
    expect(limited.stdout).toMatch(/more than --fail-on-error allows/);
    const other = await commandLine([...args, '--epochs', '2']);
    expect(other.code).toBe(2);
    expect(other.stderr).toMatch(/epochs was 1 and is 2.*--force-new/);
  }, 60_000);

  it('is stopped by Ctrl-C once running samples had their time, with 130, and goes on', async () => {
    await using folder = await temporaryFolder();
    const path = await writeDataset(
      folder.path,
      (id) =>
        `import time\nprint("begun", flush=True)\nfor _ in range(${id === 'one' ? 600 : 0}): time.sleep(0.1)`,
    );
    const out = join(folder.path, 'out');
    const args = ['batch', path, '--out', out, '--model', `replay:${path}`, '--json'];
    await using cli = new CliProcess([...args, '--concurrency', '2', '--grace', '1']);
    await cli.printed('stderr', /2 of 3/);
    const busy = await commandLine(args);
    expect(busy.code).toBe(2);
    expect(busy.stderr).toMatch(new RegExp(`Process ${cli.pid} works in`));
    cli.kill('SIGINT');
    const { code, stdout, stderr } = await cli.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/waiting for 1 sample, at most 1\.00 s.*the same command goes on/s);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'stopped', finished: 2, total: 3 });
    expect(await readdir(out)).toEqual(['results.jsonl', 'run.json', 'transcripts']);
  }, 60_000);
});
