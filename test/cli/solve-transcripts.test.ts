import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { call, finish, startGeminiServer, status, text, turn } from '../support/gemini-server.js';
import { testPython } from '../support/python.js';
import { commandLine } from './command-line.js';
import { result, script, temporaryFolder, writeRuns } from './recorded-file.js';

const NOTEBOOK_CHECK = `
import json, os, sys
import nbformat
from nbclient import NotebookClient

def texts(cell):
    found = {}
    for output in cell.outputs:
        kind = output.get("name", output.output_type)
        text = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue")
        found[kind] = found.get(kind, "") + text
    return found

path = sys.argv[1]
os.chdir(os.path.dirname(path))
notebook = nbformat.read(path, as_version=4)
nbformat.validate(notebook)
again = nbformat.read(path, as_version=4)
NotebookClient(again, timeout=60).execute()
cells = [pair for pair in zip(notebook.cells, again.cells) if pair[0].cell_type == "code"]
print(json.dumps([[texts(before), texts(after)] for before, after in cells]))
`;

const SCRIPTS = [
  'import csv\nrows = list(csv.DictReader(open("Größen ‚1‘.csv", encoding="utf-8")))\nlen(rows)',
  'print("Ω 😀", sum(float(row["cm"]) for row in rows))\n1 / 0',
  'import sys\nprint("\\x1b[31mred\\x1b[0m\\ra\\n" * 2, end="")\nprint("careful", file=sys.stderr)\nsorted(row["name"] for row in rows)',
  'x = 1',
];

describe('--notebook and --save', () => {
  it('leave a notebook that Jupyter takes, that runs again to the same outputs, and that replay finds equal', async () => {
    await using folder = await temporaryFolder();
    const table = join(folder.path, 'Größen ‚1‘.csv');
    await writeFile(table, 'name,cm\nÅsa,171.5\nLi,160\n');
    const parts = SCRIPTS.flatMap((code) => [script(code), result('?')]);
    const runs = await writeRuns(folder.path, { q: [...parts, { text: 'In all 331.5 cm.' }] });
    const [notebook, record] = [join(folder.path, 'a.ipynb'), join(folder.path, 'a.jsonl')];
    const end = await commandLine([
      ...['solve', '--model', `replay:${runs}`, '--file', table],
      ...['--notebook', notebook, '--save', record, 'q'],
    ]);
    expect(end).toMatchObject({ code: 0, stdout: 'In all 331.5 cm.\n' });
    expect(end.stderr).toContain(`saved ${notebook}`);

    const python = await testPython();
    const { stdout } = await promisify(execFile)(python, ['-c', NOTEBOOK_CHECK, notebook]);
    const cells = JSON.parse(stdout) as [unknown, unknown][];
    expect(cells.map(([before]) => before)).toEqual([
      { execute_result: '2' },
      { stdout: 'Ω 😀 331.5\n', error: 'division by zero' },
      {
        stdout: '\u001B[31mred\u001B[0m\ra\n\u001B[31mred\u001B[0m\ra\n',
        stderr: 'careful\n',
        execute_result: "['Li', 'Åsa']",
      },
      {},
    ]);
    expect(cells.map(([, after]) => after)).toEqual(cells.map(([before]) => before));

    // The table lies beside them, where replay finds it.
    const replayed = await commandLine(['replay', notebook]);
    expect(replayed.stdout.split('\n')).toEqual([
      ...[1, 2, 3, 4].map((number) => `a.ipynb, script ${number}: equal`),
      'a.ipynb, answer: its 1 number still printed',
      '4 of 4 judged outputs equal',
      '',
    ]);
    await writeFile(table, 'name,cm\nÅsa,171.5\nLi,161\n');
    const changed = await commandLine(['replay', record]);
    // A script that fails is judged by its exception alone; what it printed bears out the answer no more.
    expect(changed.stdout).toMatch(
      /! the answer says 331\.5, which no script prints now\n4 of 4 judged outputs equal, 1 answer no longer borne out\n/,
    );
    expect([replayed.code, changed.code]).toEqual([0, 0]);
  }, 120_000);

  it.each([
    ['a notebook that is none', ['--notebook', 'a.md'], /end in \.ipynb/],
    ['a folder that is missing', ['--notebook', 'none/a.ipynb'], /there is no folder/],
    ['a form unknown to us', ['--save', 'a.pdf'], /ends in none of/],
  ])('%s is refused before the model is asked', async (_worry, args, message) => {
    await using server = await startGeminiServer([turn(text('no'))]);
    const env = { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: server.url };
    const { code, stderr } = await commandLine(['solve', ...args, 'q'], { env });
    expect(stderr).toMatch(message);
    expect({ code, requests: server.requests.length }).toEqual({ code: 2, requests: 0 });
  });

  it('keep what a run had come to that fails on the way', async () => {
    await using folder = await temporaryFolder();
    await using server = await startGeminiServer([
      turn(text('First '), call('print(6 * 7)')),
      status(400, { message: 'no' }),
    ]);
    const env = { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: server.url };
    const path = join(folder.path, 'a.jsonl');
    const { code, stderr } = await commandLine(['solve', '--save', path, 'q'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain(`saved ${path}`);
    const run = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    expect(run).toMatchObject({
      prompt: 'q',
      metadata: { status: 'failed' },
      contents: [
        { role: 'user' },
        {
          parts: [
            { text: 'First ' },
            { executableCode: { code: 'print(6 * 7)' } },
            { codeExecutionResult: { output: '42\n' } },
          ],
        },
      ],
    });
  });

  it('are saved where there is no answer, too', async () => {
    await using folder = await temporaryFolder();
    await using server = await startGeminiServer([turn(finish('SAFETY'))]);
    const env = { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: server.url };
    const args = ['solve', '--save', join(folder.path, 'a.html'), 'q'];
    expect(await commandLine(args, { env })).toMatchObject({ code: 3 });
    expect(await readdir(folder.path)).toEqual(['a.html']);
  });
});
