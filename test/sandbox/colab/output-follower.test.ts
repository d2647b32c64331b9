import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutputFollower } from '../../../src/sandbox/colab/output-follower.js';

/** Follows attachments, each a list of chunks of stdout, and gives what was shown. */
function shownBy(
  attachments: string[][],
  result: { stdout: string; outputTruncated?: boolean },
  keptLength = 1_000,
): string {
  let shown = '';
  const follower = new OutputFollower(({ text }) => (shown += text), keptLength);
  attachments.forEach((chunks, index) => {
    if (index > 0) follower.reattach();
    for (const text of chunks) follower.add({ stream: 'stdout', text });
  });
  follower.finish({ stderr: '', outputTruncated: false, ...result });
  return shown;
}

/** Some cut of `whole` into chunks, given up after `length` characters. */
const attachment = (whole: string): fc.Arbitrary<string[]> =>
  fc
    .tuple(fc.nat(whole.length), fc.array(fc.nat(whole.length), { maxLength: 5 }))
    .map(([length, cuts]) => {
      const places = [0, ...cuts.filter((cut) => cut < length), length].sort((a, b) => a - b);
      return places.slice(1).map((end, index) => whole.slice(places[index], end));
    });

describe('output over any number of attachments', () => {
  it('is shown exactly once, however replays are cut', () => {
    const text = fc.string({ maxLength: 600 });
    const scenario = text.chain((whole) =>
      fc.tuple(fc.constant(whole), fc.array(attachment(whole), { maxLength: 4 })),
    );
    fc.assert(
      fc.property(scenario, ([whole, attachments]) => {
        expect(shownBy(attachments, { stdout: whole })).toBe(whole);
      }),
    );
  });

  it('continues after a replay that holds only the end, where the parts overlap', () => {
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index}\n`);
    const replay = lines.slice(120);
    const result = { stdout: lines.slice(150).join(''), outputTruncated: true };
    expect(shownBy([lines.slice(0, 160), replay], result, 10_000)).toBe(lines.join(''));
  });

  it('shows the end of the result where the parts in between are lost', () => {
    expect(shownBy([['begin\n']], { stdout: 'end\n', outputTruncated: true })).toBe('begin\nend\n');
  });

  it('shows nothing again where the result keeps more of output that repeats itself', () => {
    const line = `${'x'.repeat(100)}\n`;
    const lines = Array.from({ length: 50 }, () => line);
    const result = { stdout: line.repeat(50).slice(-1_024), outputTruncated: true };
    expect(shownBy([lines], result, 1_000)).toBe(line.repeat(50));
  });

  it('takes no long time over output that hardly differs', () => {
    const same = 'a'.repeat(1_000_000);
    const result = { stdout: `${same}b`, outputTruncated: true };
    expect(shownBy([['!', same, 'c']], result, 1_000_000)).toBe(`!${same}c${same}b`);
  });

  it('does not repeat a result that is only spelled otherwise', () => {
    expect(shownBy([['10%\r20%\r']], { stdout: '20%' })).toBe('10%\r20%\r');
  });
});

describe('what is kept for a script that is interrupted', () => {
  it('is the end, and says that it is not all', () => {
    const follower = new OutputFollower(undefined, 10);
    for (let index = 0; index < 100; index++) follower.add({ stream: 'stdout', text: `${index};` });
    expect(follower.partial()).toEqual({
      stdout: '97;98;99;'.padStart(10, ';'),
      stderr: '',
      outputTruncated: true,
    });
  });

  it('is everything where it fits', () => {
    const follower = new OutputFollower(undefined, 10);
    follower.add({ stream: 'stderr', text: 'all' });
    expect(follower.partial()).toEqual({ stdout: '', stderr: 'all', outputTruncated: false });
  });
});

describe('output of a server that does not tell its streams apart', () => {
  function shownOf(chunks: string[], result: { stdout: string; stderr: string }): string[] {
    const shown: string[] = [];
    const follower = new OutputFollower(({ stream, text }) => shown.push(`${stream}: ${text}`));
    for (const text of chunks) follower.add({ stream: undefined, text });
    follower.finish({ outputTruncated: false, ...result });
    return shown;
  }

  it('is not shown again when the result tells them apart', () => {
    const result = { stdout: '1\n2\n', stderr: 'warning\n' };
    expect(shownOf(['1\nwarn', 'ing\n2\n'], result)).toEqual([
      'stdout: 1\nwarn',
      'stdout: ing\n2\n',
    ]);
  });

  it('is completed by what was never sent, each line in its stream', () => {
    const result = { stdout: '1\n1\n2', stderr: 'warning\nend' };
    expect(shownOf(['1\nwarning\n'], result)).toEqual([
      'stdout: 1\nwarning\n',
      'stdout: 1\n2',
      'stderr: end',
    ]);
  });
});
