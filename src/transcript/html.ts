const SOURCE = Symbol('html');

/** Markup that is safe to stand in a page; made by {@link markup} and {@link trusted} alone. */
export interface Html {
  readonly [SOURCE]: string;
}

type Value = string | number | undefined | false | Html | readonly Html[];

/** Markup from a template: every text put into it is escaped, in elements and in quoted attributes alike. */
export function markup(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return trusted(String.raw({ raw: strings }, ...values.map(sourceOf)));
}

/** Markup of our own, or of a library that has escaped it. */
export function trusted(source: string): Html {
  return { [SOURCE]: source };
}

export function htmlText(markup: Html): string {
  return markup[SOURCE];
}

function sourceOf(value: Value): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  return Array.isArray(value) ? value.map(htmlText).join('') : htmlText(value as Html);
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
    .replace(/[\x00-\x08\x0B\x0C\x0E-\x1F]|\p{Surrogate}/gu, '\uFFFD');
}
