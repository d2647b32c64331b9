import { createHash } from 'node:crypto';
import { filesMarkdown } from '../parts/piece-text.js';
import { detailsLine, runDetails } from '../parts/run-details.js';
import type { Transcript } from '../parts/transcript.js';
import { markup, htmlText, trusted } from './html.js';
import type { Html } from './html.js';
import { pageFile } from './page-file.js';
import { transcriptMarkup } from './piece-markup.js';
import { prose } from './prose.js';

/** A transcript as one page that needs no other file, no network and no script. */
export function htmlPage(transcript: Transcript): string {
  const details = runDetails(transcript.metadata);
  const title = titleOf(transcript.prompt);
  const { reason } = details;
  const files = filesMarkdown(details);
  return page(
    title,
    markup`<header>
<h1>${title}</h1>
<p class="details">${detailsLine(details)}</p>
${reason !== undefined && markup`<p class="reason">${reason}</p>`}</header>
<main>
${files !== '' && markup`<div class="aside">${prose(files)}</div>`}${transcriptMarkup(transcript)}</main>
`,
  );
}

/** The prompt's first line, shortened. */
export function titleOf(prompt: string): string {
  const [line = ''] = prompt.trim().split('\n');
  const short = /^.{0,90}/u.exec(line.trim())?.[0] ?? '';
  if (short === '') return 'A run of colab-solver';
  return short === line.trim() ? short : `${short}…`;
}

interface PageExtras {
  /** Beside the style of transcripts. */
  style?: string;
  script?: string;
}

/** A page of ours: nothing is fetched, and no style or script takes effect but those whose text is given here. */
export function page(title: string, body: Html): string {
  return `${pageStart(title)}${htmlText(body)}${pageEnd()}`;
}

/** The same in pieces, for a body that is too long to be held: what comes before it. */
export function pageStart(title: string, { style = '', script }: PageExtras = {}): string {
  const styles = `${pageFile('transcript.css')}${style}`;
  const scripts = script === undefined ? "'none'" : hashOf(script);
  const policy =
    `default-src 'none'; img-src data:; style-src ${hashOf(styles)}; script-src ${scripts}; ` +
    "base-uri 'none'; form-action 'none'";
  return htmlText(markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${trusted(styles)}</style>
</head>
<body>
`);
}

/** What comes after the body; `script` as given to {@link pageStart}. */
export function pageEnd({ script }: Pick<PageExtras, 'script'> = {}): string {
  return htmlText(markup`${script !== undefined && markup`<script>${trusted(script)}</script>`}
</body>
</html>
`);
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
