import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandLine } from './command-line.js';
import { result, script, temporaryFolder, writeRuns } from './recorded-file.js';

const summaryOf = (stdout: string): string => stdout.trim().split('\n').at(-1) ?? '';

describe('replay', () => {
  it('finds what is equal, what differs and what cannot be judged, in the order of the file', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, {
      slow: [script('import time; time.sleep(1); print(1)'), result('2')],
      equal: [script('print(6 * 7)'), result('42'), { text: 'It is 42.' }],
      'one session': [script('x = 20'), result(''), script('x + 1'), result('21')],
      'fresh session': [script('print(x)'), result("NameError: name 'x'", 'OUTCOME_FAILED')],
      warning: [script('import sys; print(1); print("old", file=sys.stderr)'), result('1')],
      unjudged: [script('print(3)')],
      'other error': [script('1 / 0'), result('ValueError: no', 'OUTCOME_FAILED')],
      'no scripts': [{ text: 'I know.' }],
    });
    const { code, stdout, stderr } = await commandLine(['replay', path, '--concurrency', '3']);
    expect(stdout).toBe(
      [
        'slow, script 1',
        '  - 2',
        '  + 1',
        'other error, script 1',
        '  - ValueError: no',
        '  + ZeroDivisionError: division by zero',
        '5 of 7 judged outputs equal, 2 differ, 1 not judged (unjudged: no recorded result), 1 apart from text on stderr',
        '',
      ].join('\n'),
    );
    expect(stderr).toMatch(/8 runs, 8 scripts in /);
    expect(code).toBe(3);
  });

  it('ends with 0 where everything judged is equal, and stops endless scripts', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, {
      endless: [script('while True: pass'), result('gone', 'OUTCOME_DEADLINE_EXCEEDED')],
      after: [script('print(1)'), result('1.0')],
      beyond: [script('print(2)'), result('3')],
    });
    const { code, stdout } = await commandLine([
      'replay',
      path,
      '--limit',
      '2',
      '--execution-timeout',
      '0.5',
    ]);
    expect(stdout).toBe('2 of 2 judged outputs equal\n');
    expect(code).toBe(0);
  });

  it('--json prints one object', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, { a: [script('print(1)'), result('2')] });
    const { code, stdout } = await commandLine(['replay', path, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      file: path,
      runs: 1,
      scripts: 1,
      judged: 1,
      equal: 0,
      different: 1,
      notJudged: 0,
      failedRuns: 0,
      differences: [{ id: 'a', script: 1, lines: ['- 2', '+ 1'] }],
    });
    expect(code).toBe(3);
  });

  it('a run whose session dies is reported as failed, and the others go on', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, {
      deadly: [script('import os; os._exit(1)'), result('')],
      after: [script('print(1)'), result('1')],
    });
    const { code, stdout } = await commandLine(['replay', path]);
    expect(stdout).toMatch(/^deadly\n {2}! .+\n/);
    expect(summaryOf(stdout)).toBe('1 of 1 judged outputs equal, 1 run failed in the sandbox');
    expect(code).toBe(1);
  });

  it('a broken line ends it with code 2, and says what was compared before', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, { a: [script('print(1)'), result('1')] });
    const { appendFile } = await import('node:fs/promises');
    await appendFile(path, '{"id": 7}\n');
    const { code, stdout, stderr } = await commandLine(['replay', path]);
    expect(stdout).toBe('1 of 1 judged outputs equal\n');
    expect(stderr).toMatch(/colab-solver: .*runs\.jsonl, line 2/);
    expect(code).toBe(2);
  });

  it('--file puts a file into each run’s working directory', async () => {
    await using folder = await temporaryFolder();
    const path = await writeRuns(folder.path, {
      a: [script('print(len(open("runs.jsonl").read()) > 10)'), result('True')],
    });
    const { stdout } = await commandLine(['replay', path, '--file', path]);
    expect(stdout).toBe('1 of 1 judged outputs equal\n');
  });

  it.each(['sales.csv', '../sales.csv', 'link.csv'])(
    'a run that needs %s takes it from beside its recording only',
    async (name) => {
      await using folder = await temporaryFolder();
      const inner = join(folder.path, 'runs');
      await mkdir(inner);
      await writeFile(join(folder.path, 'sales.csv'), 'secret');
      await symlink(join(folder.path, 'sales.csv'), join(inner, 'link.csv'));
      const path = await writeRuns(inner, { a: [script('print(1)'), result('1')] });
      const run = JSON.parse(await readFile(path, 'utf8')) as object;
      await writeFile(path, JSON.stringify({ ...run, metadata: { files: [{ name }] } }));
      const { code, stdout } = await commandLine(['replay', path]);
      expect(stdout).toContain(
        `The run a needs the file ${name}, which does not lie beside ${path}.`,
      );
      expect(code).toBe(1);
    },
  );
});
