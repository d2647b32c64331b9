import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedRun } from '../../agent/recorded-run.js';
import { ConfigError } from '../../errors.js';
import { replaceFile } from '../../replace-file.js';
import { htmlText, markup } from '../../transcript/html.js';
import { syncFolder } from '../batch-folder.js';
import { readResults, readTranscript } from '../journal-reading.js';
import { readManifest } from '../run-manifest.js';
import { standingOf } from '../sample-record.js';
import type { SampleRecord } from '../sample-record.js';
import { Comparison } from './comparison.js';
import { Figures } from './figures.js';
import { fieldsOf } from './groups.js';
import { markdownReport } from './markdown-report.js';
import { PageTranscripts } from './page-transcript.js';
import { reportEnd, reportStart } from './report-page.js';
import type { ReportSource } from './report-source.js';
import { valueText } from './report-text.js';
import { SampleBlocks } from './sample-blocks.js';

export interface ReportOptions {
  /** Another batch folder, to be compared with sample by sample. */
  compare?: string | undefined;
  signal?: AbortSignal | undefined;
}

export const reportFiles = { markdown: 'report.md', html: 'report.html' } as const;

/**
 * Writes `report.md` and `report.html` from what a batch folder holds, finished or not; an older report is there until the
 * new one is whole. The journal is read twice, one record at a time: memory holds a few numbers a sample.
 * @throws {ConfigError} `BAD_JOURNAL` where the folder, or the one to compare with, holds no batch or a damaged one; the
 * signal's reason when cancelled.
 */
export async function writeReport(
  folder: string,
  options: ReportOptions = {},
): Promise<ReportSource> {
  const source = await readFigures(folder, options);
  await replaceFile(join(folder, reportFiles.markdown), markdownReport(source));
  await replaceFile(join(folder, reportFiles.html), (file) =>
    writePage(file, folder, source, options),
  );
  await syncFolder(folder);
  return source;
}

async function readFigures(
  folder: string,
  { compare, signal }: ReportOptions,
): Promise<ReportSource> {
  const manifest = await requireManifest(folder);
  const figures = new Figures();
  const comparison = compare === undefined ? undefined : new Comparison(compare);
  if (comparison !== undefined) {
    await requireManifest(comparison.folder);
    for await (const record of readResults(comparison.folder, { signal }))
      comparison.addOther(record);
  }
  for await (const record of readResults(folder, { signal })) {
    figures.add(record);
    comparison?.add(record);
  }
  return { manifest, figures, ...(comparison !== undefined && { comparison }) };
}

async function requireManifest(folder: string) {
  const manifest = await readManifest(folder);
  if (manifest !== undefined) return manifest;
  throw new ConfigError(
    'BAD_JOURNAL',
    `${folder} holds no run.json, so it is no batch folder. Name the folder that was given to batch with --out.`,
  );
}

async function writePage(
  file: FileHandle,
  folder: string,
  source: ReportSource,
  { signal }: ReportOptions,
): Promise<void> {
  const fields = source.figures.groups.all.map(({ field }) => field);
  const transcripts = new PageTranscripts();
  const blocks = new SampleBlocks();
  await file.write(reportStart(source));
  for await (const record of readResults(folder, { signal })) {
    const run = await readTranscript(folder, record).catch((error: unknown) => String(error));
    const shown =
      typeof run === 'string' ? htmlText(markup`<p>${run}</p>`) : transcripts.markup(run);
    const before = source.comparison?.standingBefore(record);
    const row = { ...rowOf(record, run, fields), ...(before !== undefined && { before }) };
    const data = blocks.add(row, shown);
    if (data !== '') await file.write(data);
  }
  await file.write(blocks.end() + reportEnd());
}

function rowOf(record: SampleRecord, run: RecordedRun | string, fields: readonly string[]) {
  const groups = fieldsOf(record);
  return {
    id: record.id,
    epoch: record.epoch,
    status: record.status,
    standing: standingOf(record),
    prompt: typeof run === 'string' ? '' : valueText(run.prompt, 300),
    answer: record.answer === null ? '' : valueText(record.answer),
    target: record.target === null ? '' : valueText(record.target),
    explanation: valueText(record.explanation, 600),
    steps: record.steps,
    scripts: record.executions,
    tokens: record.usage.totalTokenCount,
    seconds: Math.round(record.durationMs) / 1000,
    groups: fields.map((field) => groups.get(field) ?? []),
  };
}
