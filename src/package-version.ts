import { readFileSync } from 'node:fs';

/** Of colab-solver, as its package.json states it. */
export function packageVersion(): string {
  const path = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
