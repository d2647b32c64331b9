/** Text as a fenced block of Markdown, whose fence is longer than any run of backticks in it. */
export function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/** Text as a code span of Markdown, on one line. */
export function codeSpan(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const ticks = '`'.repeat(longestRun(line) + 1);
  const pad = /^[` ]|[` ]$/.test(line) || line === '' ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** Markdown whose last fence, where it was left open, is closed, so that it cannot swallow what comes after it. */
export function withClosedFence(markdown: string): string {
  let open: string | undefined;
  for (const [, fence = '', rest = ''] of markdown.matchAll(/^ {0,3}(`{3,}|~{3,})(.*)$/gm)) {
    if (open === undefined) open = fence.startsWith('`') && rest.includes('`') ? undefined : fence;
    else if (fence.startsWith(open) && rest.trim() === '') open = undefined;
  }
  return open === undefined ? markdown : `${markdown}${markdown.endsWith('\n') ? '' : '\n'}${open}`;
}

function longestRun(text: string): number {
  return [...text.matchAll(/`+/g)].reduce((longest, [run]) => Math.max(longest, run.length), 0);
}
