import { describe, expect, it } from 'vitest';
import type { RichOutput } from '../../src/sandbox/execution.js';
import { call, calls, text, turn } from '../support/gemini-server.js';
import { play } from '../support/played-run.js';
import type { Script } from '../support/scripted-sandbox.js';

const base64 = (content: string): string => Buffer.from(content).toString('base64');

function image(index: number, content: string, type = 'image/png'): RichOutput {
  const value = type === 'image/svg+xml' ? content : base64(content);
  return { index, mimeTypes: [type], data: { 'text/plain': '<Figure>', [type]: value } };
}

const draws =
  (...richOutputs: RichOutput[]): Script =>
  () => ({ value: '', richOutputs });

const png = (content: string) => ({ mimeType: 'image/png', data: base64(content) });

/** The parts with which the model was answered. */
async function answered(modelId: string, script: Script, code = 'plot()'): Promise<unknown[]> {
  const replies = [turn(call(code, { id: 'a' })), turn(text('Done.'))];
  const { server } = await play(replies, script, { modelId });
  return (server.requests[1]?.body.contents as { parts: unknown[] }[]).at(-1)?.parts ?? [];
}

describe('a chart', () => {
  it('stands right behind the result of its script, and among the files', async () => {
    const replies = [turn(call('plot()', { id: 'a' })), turn(text('Done.'))];
    const { parts, result, events } = await play(replies, draws(image(0, 'one'), image(1, 'two')));
    expect(parts).toMatchObject([
      { executableCode: { id: 'a' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', id: 'a' } },
      { inlineData: png('one') },
      { inlineData: png('two') },
      { text: 'Done.' },
    ]);
    expect(result.files).toMatchObject([
      { name: 'display-1.png', mimeType: 'image/png', sizeBytes: 3 },
      { name: 'display-2.png' },
    ]);
    expect(Buffer.from((await result.files[0]?.bytes()) ?? []).toString()).toBe('one');
    expect(events.filter(({ type }) => type === 'display')).toMatchObject([
      { id: 'a', name: 'display-1.png' },
      { id: 'a', name: 'display-2.png' },
    ]);
  });

  it('that is a drawing is text/xml, which no model is given', async () => {
    const script = draws(image(0, '<svg/>', 'image/svg+xml'));
    const replies = [turn(call('plot()', { id: 'a' })), turn(text('Done.'))];
    const { parts, result } = await play(replies, script, { modelId: 'gemini-3-flash' });
    expect(parts[2]).toEqual({ inlineData: { mimeType: 'text/xml', data: base64('<svg/>') } });
    expect(result.files).toMatchObject([{ name: 'display-1.svg', mimeType: 'image/svg+xml' }]);
    expect(await answered('gemini-3-flash', script)).toMatchObject([
      { functionResponse: { response: { output: '[Displayed 1 image, not attached.]' } } },
    ]);
  });

  it.each(['gemini-3-flash-preview', 'gemini-flash-latest', 'models/gemini-3.8-flash'])(
    'is given to %s inside the answer',
    async (modelId) => {
      const [answer, ...more] = await answered(modelId, draws(image(0, 'one')));
      expect(answer).toEqual({
        functionResponse: {
          id: 'a',
          name: 'execute_code',
          response: { output: '[Displayed 1 image.]' },
          parts: [{ inlineData: png('one') }],
        },
      });
      expect(more).toEqual([]);
    },
  );

  it('is given to Gemini 2.5 behind all answers, which the API counts', async () => {
    const replies = [
      turn(calls(['one()', { id: 'a' }], ['two()', { id: 'b' }])),
      turn(text('Done.')),
    ];
    const script: Script = (code) => ({ value: '', richOutputs: [image(0, code)] });
    const { server } = await play(replies, script, { modelId: 'gemini-2.5-flash' });
    const contents = server.requests[1]?.body.contents as { parts: object[] }[];
    expect(contents.at(-1)?.parts).toMatchObject([
      { functionResponse: { id: 'a' } },
      { functionResponse: { id: 'b' } },
      { inlineData: png('one()') },
      { inlineData: png('two()') },
    ]);
    expect(JSON.stringify(contents.at(-1)?.parts.slice(0, 2))).not.toContain('inlineData');
  });

  it('is kept from a model that is not known to take images, which is told so', async () => {
    expect(await answered('gemma-3-27b-it', draws(image(0, 'one')))).toEqual([
      {
        functionResponse: {
          id: 'a',
          name: 'execute_code',
          response: { output: '[Displayed 1 image, not attached.]' },
        },
      },
    ]);
  });

  it('is one of ten at the most that a model is given of one script', async () => {
    const many = Array.from({ length: 12 }, (_, index) => image(index, `${index}`));
    const [answer] = await answered('gemini-3-flash', draws(...many));
    expect(answer).toMatchObject({
      functionResponse: { response: { output: '[Displayed 12 images, 10 attached.]' } },
    });
    expect(
      (answer as { functionResponse: { parts: unknown[] } }).functionResponse.parts,
    ).toHaveLength(10);
  });

  it('too large for requests stays with the people', async () => {
    const large = image(0, 'x'.repeat(4 << 20));
    const [answer] = await answered('gemini-3-flash', draws(large, image(1, 'small')));
    expect(answer).toMatchObject({ functionResponse: { parts: [{ inlineData: png('small') }] } });
  });
});

describe('what else is displayed', () => {
  it('is told in text: formulas, tables, what is missing', async () => {
    const script = draws(
      { index: 0, mimeTypes: [], data: { 'text/latex': '$x$', 'text/plain': '<Math>' } },
      { index: 1, mimeTypes: [], data: { 'text/html': '<table>', 'text/plain': 'a\n1' } },
      { index: 2, mimeTypes: [], isValue: true, data: { 'text/html': '<b>', 'text/plain': 'v' } },
      { index: 3, mimeTypes: [], error: '5 more displays were not kept.' },
    );
    expect(await answered('gemini-test', script)).toMatchObject([
      { functionResponse: { response: { output: '$x$\na\n1\n[5 more displays were not kept.]' } } },
    ]);
  });
});

describe('files that a script writes', () => {
  it('are told as they come, and are in the result', async () => {
    const file = { path: 'out.csv', sizeBytes: 2, modifiedAt: '2026-01-01T00:00:00Z' };
    const script: Script = () => ({ value: '', changedFiles: [file] });
    const replies = [turn(call('save()', { id: 'a' })), turn(text('Done.'))];
    const { events, result } = await play(replies, script);
    const note = { name: 'out.csv', mimeType: 'text/csv', sizeBytes: 2 };
    expect(events.find(({ type }) => type === 'files')).toEqual({
      type: 'files',
      id: 'a',
      files: [note],
    });
    expect(result.files).toMatchObject([note]);
  });
});
