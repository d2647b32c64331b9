import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** What a client of Colab must be able to handle; docs/sandboxes.md says of each what happens. */
const SITUATIONS = Array.from({ length: 30 }, (_, index) => index + 1);

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

it('each situation has a test that is named by it', () => {
  const folder = fileURLToPath(new URL('test/', root));
  const named = new Set<number>();
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.test.ts')) continue;
    const titles = read(`test/${path}`).matchAll(/['"`]situation (\d+): /g);
    for (const [, number] of titles) named.add(Number(number));
  }
  expect([...named].sort((a, b) => a - b)).toEqual(SITUATIONS);
});

it('each situation has its row in docs/sandboxes.md', () => {
  const rows = read('docs/sandboxes.md').matchAll(/^\| (\d+) +\|/gm);
  expect([...rows].map(([, number]) => Number(number))).toEqual(SITUATIONS);
});
