import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { GoogleGenAI } from '@google/genai';
import type { Part as GenaiPart } from '@google/genai';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ModelError } from '../../src/errors.js';
import { textOf } from '../../src/parts/content.js';
import type { Content } from '../../src/parts/content.js';
import { appendParts, partsFromGenai, verbatim } from '../../src/parts/genai.js';
import type { Part } from '../../src/parts/part.js';

/** What a server might send, fields unknown to us among them. */
const everyKind = [
  { text: 'hmm', thought: true },
  { text: '', thoughtSignature: 'c2lnbmVkIGVtcHR5' },
  { hologram: { depth: 3, layers: [{ a: null }] }, thoughtSignature: 'aG9sbw==' },
  {
    functionCall: {
      id: 'c1',
      name: 'execute_code',
      args: { code: 'print("é")' },
      willContinue: false,
    },
    thoughtSignature: 'Y2FsbA==',
    partMetadata: { origin: 'x' },
    mood: 'calm',
  },
  { executableCode: { id: 'e1', language: 'PYTHON', code: 'print(1)', cell: 7 } },
  { codeExecutionResult: { id: 'e1', outcome: 'OUTCOME_OK', output: '1\n', elapsed: '1s' } },
  { inlineData: { mimeType: 'image/png', data: 'AAAA', displayName: 'chart' } },
  { fileData: { mimeType: 'text/csv', fileUri: 'files/a', checksum: 'b' } },
  { toolCall: { id: 't1', toolType: 'NEW_TOOL', args: {} } },
] as Part[];

describe('over the wire, with the real SDK', () => {
  it('every part comes in and goes back exactly as it came, unknown kinds and signatures too', async () => {
    const bodies: unknown[] = [];
    const server = createServer((request, response) => {
      void readText(request).then((body) => {
        bodies.push(JSON.parse(body));
        const candidates = [{ content: { role: 'model', parts: everyKind }, finishReason: 'STOP' }];
        response.setHeader('content-type', 'text/event-stream');
        response.end(`data: ${JSON.stringify({ candidates })}\n\n`);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const ai = new GoogleGenAI({
        apiKey: 'test',
        vertexai: false,
        httpOptions: { baseUrl: `http://127.0.0.1:${port}`, apiVersion: 'v1beta' },
      });
      const ask = async (history: readonly Content[]): Promise<Part[]> => {
        const { contents, extraBody } = verbatim(history);
        const config = { systemInstruction: 'Be exact.', httpOptions: { extraBody } };
        const stream = await ai.models.generateContentStream({ model: 'm', contents, config });
        let answer: Content = { role: 'model', parts: [] };
        for await (const chunk of stream) {
          answer = appendParts(answer, partsFromGenai(chunk.candidates?.[0]?.content?.parts));
        }
        return answer.parts;
      };

      const history: Content[] = [{ role: 'user', parts: [{ text: 'hello' }] }];
      const received = await ask(history);
      expect(received).toEqual(everyKind);
      history.push(
        { role: 'model', parts: received },
        { role: 'user', parts: [{ text: 'go on' }] },
      );
      await ask(history);

      expect(bodies).toMatchObject([
        { contents: history.slice(0, 1), systemInstruction: { parts: [{ text: 'Be exact.' }] } },
        { contents: history },
      ]);
      expect((bodies[1] as { contents: unknown }).contents).toEqual(history);
    } finally {
      server.close();
    }
  });
});

describe('parts from the SDK', () => {
  it('none are an empty list', () => {
    expect(partsFromGenai(undefined)).toEqual([]);
  });

  it('a text left out because it is empty is filled in', () => {
    const parts = [{ codeExecutionResult: { outcome: 'OUTCOME_OK' } }] as unknown as GenaiPart[];
    expect(partsFromGenai(parts)).toEqual([
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '' } },
    ]);
  });

  it('an enum value the API may add stays', () => {
    const parts = [
      { codeExecutionResult: { outcome: 'OUTCOME_PAUSED', output: '' } },
      { executableCode: { language: 'R', code: '1' } },
    ] as unknown as GenaiPart[];
    expect(partsFromGenai(parts)).toEqual(parts);
  });

  it('what is not Gemini is refused by name', () => {
    const parts = [{ text: 5 }] as unknown as GenaiPart[];
    expect(() => partsFromGenai(parts)).toThrow(ModelError);
    expect(() => partsFromGenai(parts)).toThrow(/\[0\]\.text/);
  });

  it('nothing is lost, whatever the kind', () => {
    expect(partsFromGenai(everyKind as unknown as GenaiPart[])).toEqual(everyKind);
  });
});

describe('streamed chunks become one content', () => {
  const empty: Content = { role: 'model', parts: [] };
  const collect = (...chunks: Part[][]): Part[] => chunks.reduce(appendParts, empty).parts;

  it('pieces of text join, thoughts apart', () => {
    expect(
      collect(
        [{ text: 'I th', thought: true }],
        [{ text: 'ink', thought: true }, { text: 'The ' }],
        [{ text: '' }],
        [{ text: 'answer', thought: false }],
      ),
    ).toEqual([{ text: 'I think', thought: true }, { text: 'The answer' }]);
  });

  it('an empty text without a signature is dropped', () => {
    const call: Part = { functionCall: { id: 'c1', name: 'roll' } };
    expect(collect([{ text: '' }], [call], [{ text: '', thought: true }])).toEqual([call]);
  });

  it('a signed part joins nothing, and a signed empty text stays where it came', () => {
    const parts: Part[] = [
      { text: 'a' },
      { text: '', thoughtSignature: 's1' },
      { text: 'b', thoughtSignature: 's2' },
      { text: 'c' },
    ];
    expect(collect(...parts.map((part) => [part]))).toEqual(parts);
  });

  it('text with anything else to it joins nothing', () => {
    const parts: Part[] = [{ text: 'a' }, { text: 'b', partMetadata: { x: 1 } }, { text: 'c' }];
    expect(collect(parts)).toEqual(parts);
  });

  it('a call sent twice under one id counts once and keeps its signature', () => {
    const call: Part = { functionCall: { id: 'c1', name: 'execute_code', args: { code: '1' } } };
    const signed = { ...call, thoughtSignature: 's' };
    expect(collect([signed], [call])).toEqual([signed]);
    expect(collect([call], [{ text: 'x' }], [signed])).toEqual([signed, { text: 'x' }]);
    const code: Part = { executableCode: { id: 'e1', language: 'PYTHON', code: '1' } };
    expect(collect([code], [code])).toEqual([code]);
  });

  it('calls without an id, or that differ, are all kept', () => {
    const nameless: Part = { functionCall: { name: 'roll' } };
    const one: Part = { functionCall: { id: 'c', name: 'roll', args: { sides: 6 } } };
    const other: Part = { functionCall: { id: 'c', name: 'roll', args: { sides: 8 } } };
    expect(collect([nameless, nameless], [one, other])).toEqual([nameless, nameless, one, other]);
  });

  it('leaves its input as it was', () => {
    const before: Content = { role: 'model', parts: [{ text: 'a' }] };
    appendParts(before, [{ text: 'b' }]);
    expect(before).toEqual({ role: 'model', parts: [{ text: 'a' }] });
  });

  const textPart = fc.record(
    {
      text: fc.constantFrom('', 'a', 'b '),
      thought: fc.boolean(),
      thoughtSignature: fc.constantFrom('s1', 's2'),
    },
    { requiredKeys: ['text'] },
  );
  const anyPart: fc.Arbitrary<Part> = fc.oneof(
    { weight: 4, arbitrary: textPart },
    fc.constantFrom<Part>({ hologram: 1 }, { functionCall: { name: 'f' }, thoughtSignature: 's3' }),
  );

  it('loses no text, no signature and no other part, however it was cut into chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anyPart)), (chunks) => {
        const sent = chunks.flat();
        const kept = collect(...chunks);
        expect(kept).toEqual(collect(sent));
        expect(textOf(kept)).toBe(textOf(sent));
        const thoughts = (parts: Part[]) =>
          parts.filter((part) => part.thought).map((part) => part.text);
        expect(thoughts(kept).join('')).toBe(thoughts(sent).join(''));
        const special = (parts: Part[]) =>
          parts.filter((part) => part.text === undefined || part.thoughtSignature !== undefined);
        expect(special(kept)).toEqual(special(sent));
      }),
    );
  });
});
