import { describe, expect, it } from 'vitest';
import { z } from 'zod';
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
