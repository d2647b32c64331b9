import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectColab } from '../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../src/sandbox/colab/sign-in.js';
import type { ExecutionResult, OutputChunk, RichOutput } from '../../src/sandbox/execution.js';
import type { Sandbox, Session } from '../../src/sandbox/sandbox.js';
import { startEmbeddedColab } from '../support/embedded-colab.js';
import type { EmbeddedColab } from '../support/embedded-colab.js';
import { LONG_MS, quickly } from './colab/connected.js';

const PNG = 'image/png';
const PLOT = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\n';

let server: EmbeddedColab;
let sandbox: Sandbox;
let session: Session;

beforeAll(async () => {
  server = await startEmbeddedColab({ isolation: 'auto' });
  sandbox = await connectColab({
    url: server.url,
    signIn: fixedToken(server.token),
    policy: quickly,
  });
  session = await sandbox.openSession();
}, LONG_MS);

afterAll(async () => {
  await sandbox.close();
  await server.close();
}, LONG_MS);

const run = (code: string, timeoutMs = LONG_MS): Promise<ExecutionResult> =>
  session.execute(code, { timeoutMs });

const typesOf = ({ richOutputs }: ExecutionResult): string[][] =>
  richOutputs.map(({ mimeTypes }) => mimeTypes.toSorted());

/** Base64 of a PNG file. */
const isPng = ({ data }: RichOutput): boolean => String(data?.[PNG]).startsWith('iVBORw0KGgo');

describe('what a notebook would show', { timeout: LONG_MS }, () => {
  it.each([
    ['a figure that was not shown by hand', `${PLOT}None`, PNG],
    ['a figure that was', `${PLOT}plt.show()`, PNG],
    ['an image as the last value', 'from PIL import Image\nImage.new("RGB", (3, 3))', PNG],
    ['a table', 'import pandas as pd\npd.DataFrame({"a": [1]})', 'text/html'],
    ['a formula', 'from IPython.display import *\ndisplay(Math("x^2"))', 'text/latex'],
    ['a JPEG', 'display({"image/jpeg": b"\\xff\\xd8"}, raw=True)', 'image/jpeg'],
    ['a drawing', 'display(SVG("<svg xmlns=\'http://www.w3.org/2000/svg\'/>"))', 'image/svg+xml'],
    ['plain text', 'display("words")', 'text/plain'],
    [
      'a chart of plotly, numbers that JSON cannot hold included',
      'display({"application/vnd.plotly.v1+json": {"data": [{"y": [1, float("nan")]}]}}, raw=True)',
      'application/vnd.plotly.v1+json',
    ],
    [
      'a chart of altair, as any object with bundles of its own',
      'class Chart:\n  def _repr_mimebundle_(self, **_): return {"application/vnd.vegalite.v5+json": {"mark": "bar"}}\nChart()',
      'application/vnd.vegalite.v5+json',
    ],
  ])('is kept: %s', async (_, code, type) => {
    const result = await run(code);
    expect(result).toMatchObject({ status: 'ok', stdout: '', stderr: '' });
    expect(result.richOutputs).toHaveLength(1);
    expect(Object.keys(result.richOutputs[0]?.data ?? {})).toContain(type);
  });

  it('is kept in order, several figures and what stands between them', async () => {
    const code = `
${PLOT}plt.show()
display(Math("1"))
plt.figure(); plt.plot([2])
plt.figure(); plt.plot([3])
`;
    const result = await run(code);
    expect(typesOf(result)).toEqual([
      [PNG, 'text/plain'],
      ['text/latex', 'text/plain'],
      [PNG, 'text/plain'],
      [PNG, 'text/plain'],
    ]);
    expect(result.richOutputs.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  });

  it('shows its latest state where it was updated in place', async () => {
    const code =
      'h = display(HTML("0"), display_id=True)\nfor i in range(9): h.update(HTML(str(i)))';
    const result = await run(code);
    expect(result.richOutputs).toMatchObject([{ data: { 'text/html': '8' } }]);
  });

  it('is not what a script catches for itself', async () => {
    const code = `
from IPython.utils.capture import capture_output
with capture_output() as caught: display(Math("1"))
print(len(caught.outputs))`;
    expect(await run(code)).toMatchObject({ stdout: '1\n', richOutputs: [] });
  });

  it('is kept where a child process comes to the end of the script too, once', async () => {
    const result = await run(
      'import os\nif os.fork() == 0: display(Math("child"))\ndisplay(Math("x"))',
    );
    expect(result.richOutputs).toHaveLength(1);
  });
});

describe('a figure is not lost', { timeout: LONG_MS }, () => {
  it('when the script fails after it', async () => {
    const result = await run(`${PLOT}raise ValueError("no")`);
    expect(result).toMatchObject({ status: 'failed', error: { name: 'ValueError' }, stderr: '' });
    expect(result.richOutputs.map(isPng)).toEqual([true]);
  });

  it.each([
    ['shown', 'plt.show()\n'],
    ['still being drawn', ''],
  ])('when the limit strikes and it is %s', async (_, show) => {
    await run(`${PLOT}plt.close()`);
    const result = await run(`${PLOT}${show}while True: pass`, 4_000);
    expect(result).toMatchObject({ status: 'deadline-exceeded', stderr: '' });
    expect(result.richOutputs.map(isPng)).toEqual([true]);
  });

  it.each([
    [
      'changes directory',
      'import os\nos.makedirs("elsewhere", exist_ok=True)\nos.chdir("elsewhere")',
    ],
    ['clears its output', 'from IPython.display import clear_output\nclear_output()'],
    [
      'replaces its streams',
      'import io, sys\nsys.stdout = io.StringIO()\nsys.stderr = io.StringIO()',
    ],
    ['closes its streams', 'import sys\nsys.stdout = sys.stderr = None'],
  ])('when the script %s', async (_, code) => {
    const other = await sandbox.openSession();
    const result = await other.execute(`${PLOT}plt.show()\n${code}`, { timeoutMs: LONG_MS });
    expect(result).toMatchObject({ status: 'ok', stdout: '', stderr: '' });
    expect(result.richOutputs.map(isPng)).toEqual([true]);
    await other.close();
  });
});

describe('displays without end', { timeout: LONG_MS }, () => {
  it('are kept up to 200, and how many more there were is said', async () => {
    const code = 'for n in range(205):\n  display({"image/png": b"%d" % n}, raw=True)';
    const { richOutputs } = await run(code);
    expect(richOutputs).toHaveLength(201);
    expect(richOutputs[199]?.data).toEqual({ [PNG]: Buffer.from('199').toString('base64') });
    expect(richOutputs[200]?.error).toMatch(/^5 more displays/);
  });

  it('are dropped one by one where each is too large, the others kept', async () => {
    const code = 'display(HTML("x" * (17 << 20)))\ndisplay(HTML("small"))';
    const { richOutputs } = await run(code);
    expect(richOutputs.map(({ data }) => data?.['text/html'])).toEqual([undefined, 'small']);
    expect(richOutputs[0]?.mimeTypes).toContain('text/html');
    expect(richOutputs[0]?.error).toMatch(/too large/);
  });
});

describe('a script sees nothing of it', { timeout: LONG_MS }, () => {
  it('in its output as it appears, nor in its folder, nor in its value', async () => {
    const shown: OutputChunk[] = [];
    const code = `${PLOT}plt.show()\nimport sys\nprint("warning", file=sys.stderr)`;
    const result = await session.execute(code, {
      timeoutMs: LONG_MS,
      onOutput: (chunk) => shown.push(chunk),
    });
    expect(result.stderr).toBe('warning\n');
    expect(shown.map(({ text }) => text).join('')).toBe('warning\n');
    expect(
      await run(
        'import os\n[n for n in os.listdir("/content" if os.path.isdir("/content") else ".") if n.startswith(".")]',
      ),
    ).toMatchObject({ value: '[]' });
    expect((await session.listFiles()).filter(({ path }) => path.includes('colab-solver'))).toEqual(
      [],
    );
  });

  it('and pays nothing for matplotlib that it does not use', async () => {
    const other = await sandbox.openSession();
    await other.execute('print(1)', { timeoutMs: LONG_MS });
    const code =
      'import sys\n[n for n in sys.modules if n.startswith(("matplotlib", "PIL", "pandas"))]';
    expect(await other.execute(code, { timeoutMs: LONG_MS })).toMatchObject({ value: '[]' });
    await other.close();
  });
});

describe('files that a script makes or changes', { timeout: LONG_MS }, () => {
  it('are told with its result, those of earlier scripts are not', async () => {
    const name = `ž "new" 'file'.txt`;
    const code = `import os\nos.makedirs("deep/er", exist_ok=True)\nopen("deep/er/" + ${JSON.stringify(name)}, "w").write("12")`;
    expect((await run(code)).changedFiles).toMatchObject([
      { path: `deep/er/${name}`, sizeBytes: 2 },
    ]);
    expect((await run('1')).changedFiles).toEqual([]);
    await run('open("grows", "w").write("1")');
    expect((await run('open("grows", "a").write("2")')).changedFiles).toMatchObject([
      { path: 'grows', sizeBytes: 2 },
    ]);
  });

  it('are told when it fails, and when its limit strikes', async () => {
    const write = 'open("cut.txt", "w").write("1")\n';
    expect((await run(`${write}1/0`)).changedFiles).toMatchObject([{ path: 'cut.txt' }]);
    const result = await run(`${write}while True: pass`, 2_000);
    expect(result).toMatchObject({ status: 'deadline-exceeded' });
    expect(result.changedFiles).toMatchObject([{ path: 'cut.txt' }]);
  });

  it('are told all where there are very many', async () => {
    const { changedFiles = [] } = await run('for n in range(1500): open(f"many{n}", "w").close()');
    expect(changedFiles).toHaveLength(1500);
  });

  it('are not its links to folders outside, hidden ones or pipes', async () => {
    const code =
      'import os\nos.symlink("/", "root")\nos.mkfifo("pipe")\nopen(".hidden", "w").close()\nopen("seen", "w").close()';
    expect((await run(code)).changedFiles).toMatchObject([{ path: 'seen' }]);
  });
});
