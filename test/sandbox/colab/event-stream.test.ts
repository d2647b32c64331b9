import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventData } from '../../../src/sandbox/colab/event-stream.js';

function stream(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function dataOf(text: string, cuts: number[] = []): Promise<string[]> {
  const bytes = new TextEncoder().encode(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  );
  const chunks = places.slice(1).map((end, index) => bytes.slice(places[index], end));
  const found: string[] = [];
  for await (const data of eventData(stream(chunks))) found.push(data);
  return found;
}

describe('server-sent events', () => {
  it('come out alike wherever the bytes are cut and however lines end', async () => {
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
    await fc.assert(
      fc.asyncProperty(lineEnd, fc.array(fc.nat(), { maxLength: 6 }), async (end, cuts) => {
        const lines = [
          'event: message',
          'id: 7',
          'data: {"ü":',
          'data:"😀"}',
          '',
          ': note',
          '',
          'data: 2',
          '',
          '',
        ];
        expect(await dataOf(lines.join(end), cuts)).toEqual(['{"ü":\n"😀"}', '2']);
      }),
    );
  });

  it('that are unfinished when the stream ends are no events', async () => {
    expect(await dataOf('data: 1\n\ndata: 2\n')).toEqual(['1']);
  });
});
