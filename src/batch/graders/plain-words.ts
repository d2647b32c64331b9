/** A text as people compare it: without capitals, accents left alone, without the signs around and between its words. */
export function plainWords(text: string): string {
  return text
    .toLowerCase()
    .replace(/\\(?:text|mathrm|mathbf|textbf)\s?\{([^{}]{0,500})\}/g, '$1')
    .replace(/(?<=\b\p{L})\.(?=\s?\p{L}\b\.?)/gu, '')
    .replace(/(?<=\d),(?=\d{3}(?!\d))/g, '')
    .replace(/(?<=\d) (?=[ap]\.?m\b)/g, '')
    .replace(/(?<=[(\[]) +| +(?=[)\]])|(?<=,) +/g, '')
    .replace(/["'$\\*`]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/^[\s.,;:!?]+|[\s.,;:!?]+$/g, '');
}
