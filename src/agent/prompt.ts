import { readFileSync } from 'node:fs';
import { InternalError } from '../errors.js';

const folder = new URL('../../prompts/', import.meta.url);
const texts = new Map<string, string>();

/**
 * The text of `prompts/{name}.md` with each `{{placeholder}}` replaced, without the final newline.
 * @throws {InternalError} for a placeholder without a value or a value without a placeholder.
 */
export function prompt(name: string, values: Record<string, string> = {}): string {
  const unused = new Set(Object.keys(values));
  const filled = textOf(name).replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
    const value = values[key];
    if (value === undefined) throw new InternalError(`The prompt ${name} needs "${key}".`);
    unused.delete(key);
    return value;
  });
  if (unused.size > 0) {
    throw new InternalError(`The prompt ${name} has no place for "${[...unused].join('", "')}".`);
  }
  return filled;
}

function textOf(name: string): string {
  let text = texts.get(name);
  if (text === undefined) {
    text = readFileSync(new URL(`${name}.md`, folder), 'utf8').trimEnd();
    texts.set(name, text);
  }
  return text;
}
