import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDataset } from '../../src/batch/dataset.js';
import type { DatasetOptions } from '../../src/batch/dataset.js';
import type { Sample } from '../../src/batch/sample.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dataset-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** Every sample, last one first, so that none is read where it just came by. */
async function samplesOf(path: string, options: DatasetOptions = {}): Promise<Sample[]> {
  const dataset = await openDataset(path, options);
  const samples: Sample[] = [];
  for (let index = dataset.ids.length - 1; index >= 0; index -= 1) {
    samples.unshift(await dataset.read(index));
  }
  return samples;
}

const WANTED = [
  { id: 'a', prompt: 'One "quoted",\nand é?', target: '1', metadata: { level: 'easy' } },
  { id: 'b', prompt: 'Two [x], {y}?', target: '2', metadata: { level: 'hard' } },
  { id: 'c', prompt: '日本?', target: '3', metadata: { level: 'hard' } },
];
const row = ({ id, prompt, target, metadata }: (typeof WANTED)[number]) =>
  [id, `"${prompt.replaceAll('"', '""')}"`, target, metadata.level].join(',');

describe('the same samples', () => {
  const flat = WANTED.map(({ metadata, ...rest }) => ({ ...rest, ...metadata }));
  const forms: [string, string][] = [
    ['lines.jsonl', flat.map((each) => JSON.stringify(each)).join('\r\n\n')],
    ['marked.jsonl', `\uFEFF${flat.map((each) => `${JSON.stringify(each)}\n`).join('')}`],
    ['lines.json', flat.map((each) => JSON.stringify(each)).join('\n')],
    ['list.json', `\uFEFF \n${JSON.stringify(flat, undefined, 2)}\n`],
    ['dense.json', JSON.stringify(flat)],
    ['table.csv', `\uFEFFid,prompt,target,level\r\n${WANTED.map(row).join('\r\n\r\n')}`],
  ];
  it.each(forms)('come out of %s, in any order of reading', async (name, content) => {
    expect(await samplesOf(await file(name, content))).toEqual(WANTED);
  });
});

describe('a data set larger than a chunk of reading', () => {
  it.each(['json', 'jsonl', 'csv'])('loses nothing as %s', async (format) => {
    const many = Array.from({ length: 3_000 }, (_, index) => ({
      id: `s${index}`,
      prompt: `é"${'x'.repeat(index % 97)}",\n[{\\ ${index}`,
    }));
    const content = {
      json: JSON.stringify(many),
      jsonl: many.map((each) => JSON.stringify(each)).join('\n'),
      csv: `id,prompt\n${many.map(({ id, prompt }) => `${id},"${prompt.replaceAll('"', '""')}"\n`).join('')}`,
    }[format];
    const samples = await samplesOf(await file(`many.${format}`, content ?? ''));
    expect(samples.map(({ id, prompt }) => ({ id, prompt }))).toEqual(many);
  });
});

describe('fields', () => {
  it('may have other names, also inside an object', async () => {
    const path = await file(
      'names.jsonl',
      JSON.stringify({ question: 'Q?', answer: { value: 7 }, key: 12, extra: true }),
    );
    const names = { id: 'key', prompt: 'question', target: 'answer.value' };
    expect(await samplesOf(path, { names })).toMatchObject([
      { id: '12', prompt: 'Q?', target: 7, metadata: { extra: true } },
    ]);
  });

  it('of a recorded run name its grader, and its contents are not carried along', async () => {
    const path = await file(
      'recorded.jsonl',
      JSON.stringify({
        id: 'r',
        prompt: 'Q?',
        target: '3',
        contents: [],
        metadata: { grader: 'choice', choices: ['1', '3'] },
      }),
    );
    const [sample] = await samplesOf(path);
    expect(sample).toMatchObject({ grader: 'choice', metadata: { choices: ['1', '3'] } });
    expect(sample).not.toHaveProperty('metadata.contents');
  });

  it('of a table hold lists, objects and truth in text', async () => {
    await file('one.txt', '1');
    await file('two.txt', '2');
    const cells = ['"{""a"": 1}"', '"{""tolerance"": 0.1}"', 'one.txt; two.txt'];
    const path = await file(
      'cells.csv',
      `prompt,target,options,files\nA?,${cells.join(',')}\nB?,TRUE,,\n"[1]","[1, 2)",,\n`,
    );
    expect(await samplesOf(path)).toEqual([
      {
        id: '1',
        prompt: 'A?',
        target: { a: 1 },
        options: { tolerance: 0.1 },
        files: [join(folder, 'one.txt'), join(folder, 'two.txt')],
        metadata: {},
      },
      { id: '2', prompt: 'B?', target: true, metadata: {} },
      { id: '3', prompt: '[1]', target: '[1, 2)', metadata: {} },
    ]);
  });
});

describe('what cannot be run is refused before anything is, with line and field', () => {
  it.each<[string, string, RegExp]>([
    ['broken.jsonl', '{"prompt":"A"}\n\n{"prompt":', /line 3: it is no JSON/],
    ['number.jsonl', '{"prompt":"A"}\n7', /line 2: is no object/],
    ['none.jsonl', '{"prompt":"A"}\n{"question":"B"}', /line 2, prompt: is missing/],
    ['blank.jsonl', '{"prompt":" "}', /line 1, prompt: must not be empty/],
    [
      'twin.jsonl',
      '{"id":1,"prompt":"A"}\n{"id":"1","prompt":"B"}',
      /line 2, id: "1" is taken by line 1/,
    ],
    ['file.jsonl', '{"prompt":"A","files":["absent.csv"]}', /line 1, files: .*absent\.csv/],
    ['files.jsonl', '{"prompt":"A","files":"a.csv"}', /line 1, files: /],
    ['large.jsonl', '{"prompt":"A","target":12345678901234567890}', /line 1, target: .*2\^53/],
    ['list.json', '[\n{"prompt":"A"},\n{"prompt":1}]', /line 3, prompt: /],
    ['cut.json', '[\n{"prompt":"A"},\n{"prompt":"B"', /line 3: it ends before/],
    ['tail.json', '[{"prompt":"A"}]\n{}', /line 2: something follows/],
    ['gap.json', '[{"prompt":"A"},\n]', /line 2: an element is missing/],
    ['wide.csv', 'id,prompt\n1,A\n2,B,C\n', /line 3: /],
    ['open.csv', 'id,prompt\n1,"A\n', /open\.csv, line \d: /],
    ['header.csv', 'id,id\n1,2\n', /two columns are called "id"/],
    ['empty.jsonl', '\n', /holds no samples/],
    ['prose.txt', 'What is it?', /neither a JSON list nor JSON Lines/],
  ])('%s', async (name, content, message) => {
    const path = await file(name, content);
    await expect(openDataset(path)).rejects.toMatchObject({ code: 'BAD_DATASET' });
    await expect(openDataset(path)).rejects.toThrow(message);
  });

  it('also where the caller finds something wrong, and says how many there are', async () => {
    const path = await file('checked.jsonl', '{"prompt":"A"}\n'.repeat(9));
    const check = () => ({ field: 'grader', problem: '"x" is unknown' });
    await expect(openDataset(path, { check })).rejects.toThrow(
      /line 1, grader: "x" is unknown; .*and more, 9 in all/,
    );
  });
});

describe('a change', () => {
  it('of the data set or of a file it attaches shows in the digest', async () => {
    await file('table.txt', '1');
    const path = await file('digest.jsonl', '{"prompt":"A","files":["table.txt"]}');
    const { digest } = await openDataset(path);
    await file('table.txt', '2');
    const second = (await openDataset(path)).digest;
    await file('digest.jsonl', '{"prompt":"B","files":["table.txt"]}');
    const third = (await openDataset(path)).digest;
    expect(new Set([digest, second, third]).size).toBe(3);
  });

  it('while it is in use is noticed', async () => {
    const path = await file('moving.jsonl', '{"prompt":"A"}\n{"prompt":"B"}');
    const dataset = await openDataset(path);
    await writeFile(path, '{"prompt":"A"}\n{"prompt":"C"}');
    await expect(dataset.read(1)).rejects.toThrow(/has changed while in use/);
  });
});

describe('samples of a program', () => {
  it('are checked alike', async () => {
    const dataset = await openDataset([{ prompt: 'A' }, { id: 'x', prompt: 'B', target: 2 }]);
    expect(dataset.ids).toEqual(['1', 'x']);
    expect(await dataset.read(1)).toEqual({ id: 'x', prompt: 'B', target: 2, metadata: {} });
    await expect(openDataset([{ prompt: 'A' }, { prompt: '' }])).rejects.toThrow(
      /number 2, prompt/,
    );
  });
});
