import { z } from 'zod';
import { PartSchema } from './part.js';
import type { Part } from './part.js';

export interface Content {
  role: 'user' | 'model';
  parts: Part[];
}

/** A content from outside; without a role it is the model's, without parts it has none. */
export const ContentSchema: z.ZodType<Content> = z.looseObject({
  role: z.enum(['user', 'model']).default('model'),
  parts: z.array(PartSchema).default([]),
});

/** True where nothing but thoughts, blanks and bare signatures is said. */
export function isEmpty(parts: readonly Part[]): boolean {
  return (
    textOf(parts).trim() === '' &&
    parts.every((part) => Object.keys(part).every((key) => TEXT_FIELDS.includes(key)))
  );
}

const TEXT_FIELDS = ['text', 'thought', 'thoughtSignature'];

/** The text of all parts but thoughts, joined as it is. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .filter((part) => part.thought !== true)
    .map((part) => part.text ?? '')
    .join('');
}
