import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { z as zod3 } from 'zod/v3';
import { defineFunction, functionTable } from '../../src/agent/caller-function.js';
import { ConfigError } from '../../src/errors.js';

const { signal } = new AbortController();

const price = defineFunction({
  name: 'price_of',
  description: 'The price of an article.',
  parameters: z.object({ article: z.string(), currency: z.enum(['EUR', 'USD']).default('EUR') }),
  execute: ({ article, currency }) => ({ article, currency, price: 12.5 }),
});

describe('functions of the caller', () => {
  it('are declared with a schema that asks only for what has no default', () => {
    const [declaration] = functionTable([price]).declarations;
    expect(declaration).toMatchObject({
      name: 'price_of',
      parametersJsonSchema: { type: 'object', required: ['article'] },
    });
    expect(declaration?.parametersJsonSchema).not.toHaveProperty('$schema');
  });

  it('get parsed arguments and answer under the id of the call', async () => {
    const response = await functionTable([price]).call(
      { id: 'c1', name: 'price_of', args: { article: 'lamp' } },
      signal,
    );
    expect(response).toEqual({
      id: 'c1',
      name: 'price_of',
      response: { output: { article: 'lamp', currency: 'EUR', price: 12.5 } },
    });
  });

  it('take JSON Schema as well, and hold arguments to it', async () => {
    const table = functionTable([
      {
        name: 'double',
        description: 'Twice a number.',
        parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        execute: ({ n }: { n: number }) => 2 * n,
      },
    ]);
    const good = await table.call({ name: 'double', args: { n: 4 } }, signal);
    const bad = await table.call({ name: 'double', args: { n: 'four' } }, signal);
    expect(good.response).toEqual({ output: 8 });
    expect(bad.response['error']).toMatch(/do not fit the schema of double/);
  });

  it.each([
    ['arguments that break the schema', { name: 'price_of', args: { article: 7 } }, /do not fit/],
    [
      'a name that does not exist',
      { name: 'prize_of', args: {} },
      /no function prize_of.*price_of/,
    ],
    [
      'a script that is no string',
      { name: 'execute_code', args: { code: 1 } },
      /one argument, code/,
    ],
  ])('answer %s to the model', async (_, call, message) => {
    const { response } = await functionTable([price]).call(call, signal);
    expect(response['error']).toMatch(message);
  });

  it.each([
    [
      'an error that is thrown',
      () => Promise.reject(new Error('shop closed')),
      /price failed: shop closed/,
    ],
    ['a value that JSON cannot hold', () => 10n, /price failed: .*BigInt/],
  ])('answer %s to the model', async (_, execute, message) => {
    const table = functionTable([
      { name: 'price', description: '', parameters: z.object({}), execute },
    ]);
    const { response } = await table.call({ name: 'price' }, signal);
    expect(response['error']).toMatch(message);
  });

  it('answer null where they return nothing', async () => {
    const table = functionTable([
      { name: 'note', description: '', parameters: z.object({}), execute: () => undefined },
    ]);
    expect((await table.call({ name: 'note' }, signal)).response).toEqual({ output: null });
  });

  it('answer null for what JSON has no word for', async () => {
    const table = functionTable([
      { name: 'note', description: '', parameters: z.object({}), execute: () => () => 1 },
    ]);
    expect((await table.call({ name: 'note' }, signal)).response).toEqual({ output: null });
  });

  it('may check their arguments asynchronously, and a check that throws is answered', async () => {
    const named = (name: string, check: (n: number) => unknown) => ({
      name,
      description: '',
      parameters: z.object({ n: z.number().refine(check) }),
      execute: ({ n }: { n: number }) => n,
    });
    const table = functionTable([
      named('patient', (n) => Promise.resolve(n > 0)),
      named('broken', () => {
        throw new Error('no list of numbers');
      }),
    ]);
    const good = await table.call({ name: 'patient', args: { n: 1 } }, signal);
    const bad = await table.call({ name: 'patient', args: { n: -1 } }, signal);
    const broken = await table.call({ name: 'broken', args: { n: 1 } }, signal);
    expect(good.response).toEqual({ output: 1 });
    expect(bad.response['error']).toMatch(/do not fit/);
    expect(broken.response['error']).toMatch(/broken failed: no list of numbers/);
  });

  it.each([
    ['zod', z.object({ list: z.any() })],
    ['JSON Schema', { type: 'object' }],
  ])('that change their arguments leave the call as it came: %s', async (_, parameters) => {
    const execute = ({ list }: { list: number[] }): number[] => list.sort();
    const table = functionTable([{ name: 'sort', description: '', parameters, execute }]);
    const call = { name: 'sort', args: { list: [3, 1, 2] } };
    expect((await table.call(call, signal)).response).toEqual({ output: [1, 2, 3] });
    expect(call.args).toEqual({ list: [3, 1, 2] });
  });

  it('take schemas of zod mini', async () => {
    const parameters = mini.object({ n: mini.number() });
    const table = functionTable([
      { name: 'half', description: '', parameters, execute: ({ n }: { n: number }) => n / 2 },
    ]);
    expect(table.declarations[0]?.parametersJsonSchema).toMatchObject({ type: 'object' });
    const { response } = await table.call({ name: 'half', args: { n: 4 } }, signal);
    expect(response).toEqual({ output: 2 });
  });

  it.each([
    ['a text', z.string()],
    ['a list', { type: 'array' }],
    ['anything', {}],
    ['nothing', null],
    ['a date', z.object({ at: z.date() })],
    ['an object of zod 3', zod3.object({ n: zod3.number() })],
  ])('are refused when their parameters are %s', (_, parameters) => {
    expect(() => functionTable([{ ...price, parameters: parameters as never }])).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    );
  });

  it.each([
    ['a name', { name: undefined }],
    ['something to execute', { execute: undefined }],
  ])('are refused without %s', (_, lack) => {
    expect(() => functionTable([{ ...price, ...(lack as object) }])).toThrow(ConfigError);
  });

  it.each(['execute_code', '9lives', 'with space', ''])(
    'are refused under the name "%s"',
    (name) => {
      expect(() => functionTable([{ ...price, name }])).toThrow(ConfigError);
    },
  );

  it('are refused when two have one name', () => {
    expect(() => functionTable([price, price])).toThrow(/price_of.*taken/);
  });
});
