import { z } from 'zod';

const Id = z
  .union([z.string(), z.number().transform(String)])
  .refine((id) => id.trim() !== '', 'must not be empty');

/** What an answer is compared with. */
const TargetSchema = z.union([
  z.string(),
  z
    .number()
    .refine(
      (value) => !Number.isInteger(value) || Number.isSafeInteger(value),
      'is an integer beyond 2^53, which JSON numbers cannot hold exactly; write it as a string',
    ),
  z.boolean(),
  z.array(z.unknown()),
  z.record(z.string(), z.unknown()),
]);

/** One item of a data set; every field but the prompt may be absent or null. */
export const SampleSchema = z.object({
  /** Unique in its data set. */
  id: Id,
  prompt: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
  target: TargetSchema.exactOptional(),
  /** A grader's name; absent: the target decides. */
  grader: z.string().min(1, 'must not be empty').exactOptional(),
  /** Of the grader. */
  options: z.record(z.string(), z.unknown()).exactOptional(),
  /** Paths of files that scripts find in their working directory; relative to the data set. */
  files: z.array(z.string().min(1, 'must not be empty')).exactOptional(),
  metadata: z.record(z.string(), z.unknown()).default({}),
});

export type Sample = z.infer<typeof SampleSchema>;

/** The same as a program may give it; without an id its place counts, from 1. */
export type SampleInput = Omit<z.input<typeof SampleSchema>, 'id'> & { id?: string | number };

/** Names of a data set's own fields; a dot leads into an object. Default: the names here. */
export interface FieldNames {
  id?: string | undefined;
  prompt?: string | undefined;
  target?: string | undefined;
  grader?: string | undefined;
  options?: string | undefined;
  files?: string | undefined;
}

const FIELDS = ['id', 'prompt', 'target', 'grader', 'options', 'files'] as const;
/** Of recorded runs and transcripts: they say how a run went, not what was asked. */
const RUN_FIELDS = new Set(['contents', 'epoch', 'status', 'text', 'metadata']);

export type SampleReading = { sample: Sample } | { field: string; problem: string };

export interface ReadingOptions {
  names: FieldNames;
  /** Counts records from 1; the id of one that has none. */
  place: number;
  /** Whether every field came as text, as in CSV, so that lists and the like are still to be read from it. */
  isText: boolean;
}

/** Makes a sample of a record. */
export function readSample(
  record: unknown,
  { names, place, isText }: ReadingOptions,
): SampleReading {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return { field: '', problem: 'is no object' };
  }
  const given = record as Record<string, unknown>;
  const metadata = metadataOf(given, names, isText);
  const fields: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const value = valueAt(given, names[field] ?? field);
    if (value === undefined || value === null || (isText && value === '')) continue;
    fields[field] = isText ? fromText(field, value) : value;
  }
  // Recorded runs name their grader there.
  fields['grader'] ??= metadata['grader'] ?? undefined;
  if (fields['grader'] === undefined) delete fields['grader'];
  const parsed = SampleSchema.safeParse({ id: String(place), ...fields, metadata });
  if (parsed.success) return { sample: parsed.data };
  const issue = parsed.error.issues[0];
  const [field = '', ...rest] = (issue?.path ?? []).map(String);
  const name = field in names ? (names[field as keyof FieldNames] ?? field) : field;
  return {
    field: [name, ...rest].join('.'),
    problem: field === 'prompt' && fields['prompt'] === undefined ? 'is missing' : said(issue),
  };
}

/** What the record says besides, so that results can be told apart by it. */
function metadataOf(
  record: Record<string, unknown>,
  names: FieldNames,
  isText: boolean,
): Record<string, unknown> {
  const own = isText ? fromText('metadata', record['metadata']) : record['metadata'];
  const used = new Set(FIELDS.map((field) => names[field] ?? field));
  const others = Object.entries(record).filter(
    ([name, value]) => !used.has(name) && !RUN_FIELDS.has(name) && value !== undefined,
  );
  return {
    ...Object.fromEntries(others),
    ...(typeof own === 'object' && own !== null && !Array.isArray(own) && own),
  };
}

/** Text can say by its form that it is a list, an object, true or false; several files stand between semicolons. */
function fromText(field: string, value: unknown): unknown {
  if (typeof value !== 'string' || field === 'prompt' || field === 'id') return value;
  const text = value.trim();
  if (/^[[{]/.test(text)) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // Then it is text after all, such as an interval.
    }
  }
  if (field === 'files') return text.split(';').map((path) => path.trim());
  if (field === 'target' && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return value;
}

function valueAt(record: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(record, name)) return record[name];
  let value: unknown = record;
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function said(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'cannot be read';
  if (issue.code === 'invalid_union') {
    return 'must be a text, a number, true or false, a list or an object';
  }
  return issue.message.replace(/^Invalid input: /, '');
}
