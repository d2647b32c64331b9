import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const KEPT = 1_000;

/** What was typed, across runs, in a file of the user's alone. What cannot be kept is no reason to stop. */
export class InputHistory {
  readonly #path: string;

  constructor(stateFolder: string) {
    this.#path = join(stateFolder, 'history');
  }

  /** Latest first. */
  read(): string[] {
    const lines = this.#lines();
    if (lines.length > 2 * KEPT) this.#shorten(lines.slice(-KEPT));
    return lines.slice(-KEPT).reverse().flatMap(entryOf);
  }

  add(text: string): void {
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, `${JSON.stringify(text)}\n`, { mode: 0o600 });
    } catch {
      // Only this run will remember it.
    }
  }

  #lines(): string[] {
    try {
      const text = readFileSync(this.#path, 'utf8');
      chmodSync(this.#path, 0o600);
      return text.split('\n').filter((line) => line !== '');
    } catch {
      return [];
    }
  }

  #shorten(lines: readonly string[]): void {
    try {
      writeFileSync(this.#path, `${lines.join('\n')}\n`, { mode: 0o600 });
    } catch {
      // It stays long.
    }
  }
}

function entryOf(line: string): string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' ? [entry] : [];
  } catch {
    return [];
  }
}
