import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  readReport,
  ReportFilter,
  toBundle,
  watched,
} from '../../../src/sandbox/colab/session-watch.js';

const TOKEN = '4f0c';
const report = (shown: number): string =>
  `\u001Ecolab-solver ${TOKEN} {"execution": "e", "shown": ${shown}}\u001E\n`;

describe('reports of the session watch', () => {
  it('are taken out of a stream however it is cut, and nothing else is', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '\u001E', '\n', 'c', 'colab-solver ', TOKEN),
    });
    const pieces = fc.array(fc.oneof(text, fc.nat(9).map(report)), { maxLength: 6 });
    fc.assert(
      fc.property(
        pieces,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (parts, cuts) => {
          // A mark at the end of a text would make one with the report after it.
          const safe = parts.map((part) =>
            part.startsWith('\u001Ecolab-solver 4f0c {') ? part : `${part}.`,
          );
          const whole = safe.join('');
          const filter = new ReportFilter(TOKEN);
          let passed = '';
          for (let at = 0, cut = 0; at < whole.length; cut += 1) {
            const length = cuts[cut % cuts.length] ?? 1;
            passed += filter.add(whole.slice(at, at + length));
            at += length;
          }
          passed += filter.rest();
          const expected = safe.filter((part) => part.endsWith('.')).join('');
          expect(passed).toBe(expected);
          expect(filter.report !== undefined).toBe(expected !== whole);
        },
      ),
    );
  });

  it('that name another session are text', () => {
    const filter = new ReportFilter('other');
    expect(filter.add(report(1)) + filter.rest()).toBe(report(1));
  });

  it('whose file cannot be had say how much is lost and why', () => {
    const known = readReport('{"execution": "e", "shown": 3}');
    if (known === undefined) throw new Error('The report was not read.');
    const { richOutputs } = watched(known, [], 'The runtime is away.');
    expect(richOutputs).toMatchObject([{ error: '3 displays are lost: The runtime is away.' }]);
  });
});

describe('a bundle', () => {
  it.each([
    ['{"data": {"text/plain": "a"}, "metadata": {}}', { data: { 'text/plain': 'a' } }],
    [
      '{"image/png": "aWk=", "text/plain": ["a\\n", "b"]}',
      { data: { 'image/png': 'aWk=', 'text/plain': 'a\nb' } },
    ],
    [
      '{"output_type": "display_data", "data": {"text/latex": "x"}}',
      { data: { 'text/latex': 'x' } },
    ],
    ['not JSON', { error: 'A display cannot be read.' }],
  ])('is read in every form that servers keep: %s', (json, expected) => {
    expect(toBundle(json)).toMatchObject(expected);
  });
});
