import { describe, expect, it } from 'vitest';
import type { CodeCell } from '../../src/parts/notebook-cell.js';
import { transcriptOfNotebook } from '../../src/parts/notebook-reading.js';
import { notebookOf } from '../../src/parts/notebook.js';
import type { Outcome, Part } from '../../src/parts/part.js';
import { resultPart } from '../../src/parts/result-part.js';
import type { ExecutionResult } from '../../src/sandbox/execution.js';

const base = { stdout: '', stderr: '', outputTruncated: false, richOutputs: [], durationMs: 1 };
const script = (code: string): Part => ({ executableCode: { language: 'PYTHON', code } });
const recorded = (output: string, outcome: Outcome = 'OUTCOME_OK'): Part => ({
  codeExecutionResult: { outcome, output },
});
const notebook = (parts: Part[], metadata = {}) =>
  notebookOf({
    prompt: 'q',
    contents: [
      { role: 'user', parts: [{ text: 'q' }] },
      { role: 'model', parts },
    ],
    metadata,
  });
const codeCells = (parts: Part[]): CodeCell[] =>
  notebook(parts).cells.filter((cell) => cell.cell_type === 'code');
const sources = (parts: Part[]): string[] =>
  notebook(parts).cells.map((cell) => cell.source.join(''));

describe('outputs', () => {
  it('of a script just run are those of the kernel', () => {
    const execution: ExecutionResult = {
      ...{ ...base, status: 'ok', stdout: 'a\nb', stderr: 'careful', value: '3' },
    };
    expect(codeCells([script('x'), resultPart(execution)])[0]).toMatchObject({
      execution_count: 1,
      outputs: [
        { output_type: 'stream', name: 'stdout', text: ['a\n', 'b'] },
        { output_type: 'stream', name: 'stderr', text: ['careful'] },
        { output_type: 'execute_result', execution_count: 1, data: { 'text/plain': ['3'] } },
      ],
    });
  });

  it('of an exception keep its traceback, and let the cells behind it run', () => {
    const error = { name: 'KeyError', value: "'a'", traceback: ['\u001B[31mKeyError\u001B[0m'] };
    const [cell] = codeCells([script('x'), resultPart({ ...base, status: 'failed', error })]);
    expect(cell?.outputs).toEqual([
      { output_type: 'error', ename: 'KeyError', evalue: "'a'", traceback: error.traceback },
    ]);
    expect(cell?.metadata).toMatchObject({ tags: ['raises-exception'] });
  });

  it('of a recorded result are its text, and none where it says that nothing was printed', () => {
    const nothing = resultPart({ ...base, status: 'ok', value: '' }).codeExecutionResult.output;
    const [text, empty, failed, late] = codeCells([
      ...[script('1'), recorded('one\n')],
      ...[script('2'), recorded(nothing)],
      ...[script('3'), recorded('Traceback …\nValueError: no', 'OUTCOME_FAILED')],
      ...[script('4'), recorded('begun\nstopped', 'OUTCOME_DEADLINE_EXCEEDED')],
    ]);
    expect(text?.outputs).toEqual([{ output_type: 'stream', name: 'stdout', text: ['one\n'] }]);
    expect(empty?.outputs).toEqual([]);
    expect(failed?.outputs).toMatchObject([{ ename: 'ValueError', evalue: 'no' }]);
    expect(late?.outputs).toMatchObject([{ text: ['begun\n'] }, { evalue: 'stopped' }]);
    expect(late?.metadata).toMatchObject({ tags: ['skip-execution'] });
  });

  it('hold charts as images, and say of other data that it is there', () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    const data = (mimeType: string, text: string): Part => ({
      inlineData: { mimeType, data: Buffer.from(text).toString('base64') },
    });
    const [cell] = codeCells([
      ...[script('plot'), recorded('')],
      ...[data('image/png', 'png'), data('text/xml', svg), data('application/pdf', '%PDF')],
    ]);
    expect(cell?.outputs).toEqual(
      [
        { 'image/png': Buffer.from('png').toString('base64') },
        { 'image/svg+xml': [svg] },
        { 'text/plain': ['application/pdf (application/pdf, 4 bytes)'] },
      ].map((bundle) => ({ output_type: 'display_data', data: bundle, metadata: {} })),
    );
  });

  it('of displays are their bundles, in order; the value keeps its own', () => {
    const rich = (data: Record<string, unknown>, isValue = false) => ({
      ...{ index: 0, mimeTypes: Object.keys(data), data, isValue },
    });
    const execution: ExecutionResult = {
      ...{ ...base, status: 'ok', value: '   a\n0  1' },
      richOutputs: [
        rich({ 'image/png': 'cG5n', 'text/plain': '<Figure>' }),
        rich({ 'application/vnd.plotly.v1+json': { data: [1] } }),
        { index: 2, mimeTypes: ['image/png'], sizeBytes: 9 },
        { index: 3, mimeTypes: ['text/html'], error: 'A display was too large.' },
        rich({ 'text/html': '<table>\n</table>', 'text/plain': 'a' }, true),
      ],
    };
    const part = resultPart(execution);
    const image = (data: string): Part => ({ inlineData: { mimeType: 'image/png', data } });
    const [cell] = codeCells([script('x'), part, image('cG5n'), image('bGFyZ2U=')]);
    expect(cell?.outputs).toEqual([
      ...[
        { 'image/png': 'cG5n', 'text/plain': ['<Figure>'] },
        { 'application/vnd.plotly.v1+json': { data: [1] } },
        { 'image/png': 'bGFyZ2U=' },
      ].map((data) => ({ output_type: 'display_data', data, metadata: {} })),
      { output_type: 'stream', name: 'stderr', text: ['[A display was too large.]\n'] },
      {
        output_type: 'execute_result',
        execution_count: 1,
        data: { 'text/html': ['<table>\n', '</table>'], 'text/plain': ['   a\n', '0  1'] },
        metadata: {},
      },
    ]);
  });

  it('of a script that never ran are none, and it has no count', () => {
    expect(codeCells([script('x')])[0]).toMatchObject({ execution_count: null, outputs: [] });
  });
});

describe('cells', () => {
  it('tell everything in order, thoughts left out', () => {
    const [about, ...rest] = sources([
      { text: 'secret', thought: true },
      ...[{ text: 'Let me ' }, { text: 'see.' }],
      { functionCall: { name: 'rate', args: { currency: 'USD' } }, thoughtSignature: 'c2ln' },
      { functionResponse: { name: 'rate', response: { euros: 0.9 } } },
      { fileData: { fileUri: 'gs://b/a.pdf' } },
      { hologram: { depth: 3 }, thoughtSignature: 'c2ln' },
      recorded('nobody asked'),
      ...[script('print(1)'), recorded('1\n')],
      { text: '```python\nopen' },
    ]);
    expect(about).toMatch(/^\*\*A run of colab-solver\*\*/);
    expect(rest).toEqual([
      'q',
      'Let me see.',
      'Called `rate`:\n\n```json\n{\n  "currency": "USD"\n}\n```',
      '`rate` answered:\n\n```json\n{\n  "euros": 0.9\n}\n```',
      'File: `gs://b/a.pdf`',
      'A part of another kind:\n\n```json\n{\n  "hologram": {\n    "depth": 3\n  }\n}\n```',
      'A result without its script (OUTCOME_OK):\n\n```\nnobody asked\n```',
      'print(1)',
      '```python\nopen\n```',
    ]);
    expect(rest.join()).not.toContain('c2ln');
  });

  it('name attached files, how the run went and why it ended without an answer', () => {
    const about = notebook([], {
      ...{ model: 'm', status: 'step-limit', steps: 2, executions: 1, reason: 'The limit …' },
      files: [{ name: 'a `b`.csv', sizeBytes: 12 }],
    }).cells[0]?.source.join('');
    expect(about).toContain('m · step-limit · 2 steps, 1 script');
    expect(about).toContain('The limit …');
    expect(about).toContain('- ``a `b`.csv`` (12 bytes)');
  });

  it('can be written as UTF-8 whatever was printed', () => {
    const text = 'a\uD800b \u0000 \u001B[1m 😀';
    const execution: ExecutionResult = { ...base, status: 'ok', stdout: text, value: text };
    const json = JSON.stringify(
      notebook([{ text }, script(text), resultPart(execution)], { note: text }),
    );
    expect(json).not.toContain('\\ud800');
    expect(json).toContain('a\uFFFDb \\u0000 \\u001b[1m 😀');
  });
});

describe('a notebook read back', () => {
  it('holds the same scripts, results and words', () => {
    const error = { name: 'KeyError', value: "'a'", traceback: ['KeyError: a'] };
    const parts = [
      { text: 'First.' },
      ...[script('a = 1\na'), resultPart({ ...base, status: 'ok', stdout: 'p\n', value: '1' })],
      ...[script('b'), resultPart({ ...base, status: 'failed', error })],
      ...[script('c'), resultPart({ ...base, status: 'deadline-exceeded', limitMs: 9_000 })],
      script('d'),
      { text: 'It is 1.' },
    ];
    const json: unknown = JSON.parse(JSON.stringify(notebook(parts, { model: 'm' })));
    const { prompt, contents, metadata } = transcriptOfNotebook(json);
    expect({ prompt, metadata }).toEqual({ prompt: 'q', metadata: { model: 'm' } });
    expect(contents.map(({ role }) => role)).toEqual(['user', 'model']);
    expect(contents[1]?.parts).toEqual(parts);
  });

  it('may be one that nobody but Jupyter has written', () => {
    const cells = [
      { cell_type: 'markdown', metadata: {}, source: 'Notes' },
      {
        ...{ cell_type: 'code', metadata: {}, execution_count: 4, source: ['1 +\n', '1'] },
        outputs: [{ output_type: 'execute_result', data: { 'text/plain': '2' }, metadata: {} }],
      },
      { cell_type: 'code', metadata: {}, execution_count: 5, source: 'x = 1', outputs: [] },
      { cell_type: 'code', metadata: {}, execution_count: null, source: 'never', outputs: [] },
    ];
    const { contents } = transcriptOfNotebook({ nbformat: 4, nbformat_minor: 2, cells });
    expect(contents[0]?.parts).toMatchObject([
      { executableCode: { code: '1 +\n1' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '2' } },
      { executableCode: { code: 'x = 1' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK' } },
      { executableCode: { code: 'never' } },
    ]);
    expect(() => transcriptOfNotebook({ nbformat: 3, worksheets: [] })).toThrow();
  });
});
