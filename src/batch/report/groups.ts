import { standingOf } from '../sample-record.js';
import type { SampleRecord } from '../sample-record.js';

export interface GroupCounts {
  value: string;
  correct: number;
  wrong: number;
  errors: number;
}

/** Samples told apart by a field of their metadata, their grader, or their epoch. */
export interface Grouping {
  field: string;
  /** By value, in a natural order. */
  groups: GroupCounts[];
}

/** A field with more values than this tells samples apart rather than groups of them. */
const MAX_GROUPS = 24;
const MAX_FIELDS = 200;

/** Counts verdicts by every field that has a few different values. */
export class Groups {
  /** A field with too many values is kept without them, so that it stays out. */
  readonly #fields = new Map<string, Map<string, GroupCounts> | undefined>();
  #records = 0;

  add(record: SampleRecord): void {
    this.#records += 1;
    for (const [field, values] of fieldsOf(record)) {
      for (const value of values) this.#count(field, value, record);
    }
  }

  get all(): Grouping[] {
    return [...this.#fields].flatMap(([field, values]) => {
      const groups = [...(values?.values() ?? [])];
      const sizes = groups.map(({ correct, wrong, errors }) => correct + wrong + errors);
      const isSingle = groups.length < 2 || Math.max(...sizes) < 2;
      if (isSingle) return [];
      const natural = new Intl.Collator('en', { numeric: true });
      return [{ field, groups: groups.sort((a, b) => natural.compare(a.value, b.value)) }];
    });
  }

  #count(field: string, value: string, record: SampleRecord): void {
    if (!this.#fields.has(field)) {
      if (this.#fields.size >= MAX_FIELDS) return;
      this.#fields.set(field, new Map());
    }
    const values = this.#fields.get(field);
    if (values === undefined) return;
    const counts = values.get(value) ?? { value, correct: 0, wrong: 0, errors: 0 };
    const standing = standingOf(record);
    if (standing !== 'ungraded') counts[standing === 'error' ? 'errors' : standing] += 1;
    values.set(value, counts);
    if (values.size > MAX_GROUPS) this.#fields.set(field, undefined);
  }
}

/** The values by which a record belongs to groups; a list, such as tags, belongs to several. */
export function fieldsOf(record: SampleRecord): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  const put = (field: string, value: unknown): void => {
    const values = (Array.isArray(value) ? (value as unknown[]) : [value])
      .filter(isPlain)
      .map(String);
    if (values.length > 0) fields.set(field, [...new Set(values)]);
  };
  for (const [field, value] of Object.entries(record.metadata)) put(field, value);
  put('grader', record.grader);
  put('epoch', record.epoch);
  return fields;
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return value !== '' && value.length <= 60;
  return typeof value === 'number' || typeof value === 'boolean';
}
