import type { Part } from './part.js';

export interface Content {
  role: 'user' | 'model';
  parts: Part[];
}

/** The text of all parts but thoughts, joined as it is. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .filter((part) => part.thought !== true)
    .map((part) => part.text ?? '')
    .join('');
}
