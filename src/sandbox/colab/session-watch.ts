import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { RichOutput, SandboxFile } from '../execution.js';

/** Beside `src` and `dist` alike. */
const SOURCE = new URL('../../../python/session_watch.py', import.meta.url);

/** Python that notes from now on what scripts display and write; leaves no name behind. */
export function watchCode(token: string): string {
  const source = readFileSync(SOURCE, 'utf8');
  return `exec(compile(${JSON.stringify(source)}, '<session watch>', 'exec'), {'__name__': 'session_watch', 'token': '${token}'})`;
}

const ReportSchema = z.object({
  execution: z.string(),
  /** Bundles that lie in the report's file. */
  shown: z.number().default(0),
  /** Displays beyond the most that are kept. */
  dropped: z.number().default(0),
  /** Path, size in bytes and time in milliseconds of new and changed files. */
  changed: z.array(z.tuple([z.string(), z.number(), z.number()])).default([]),
  /** The changed files stand in the report's file alone. */
  isLong: z.boolean().default(false),
  /** Why there is no file. */
  problem: z.string().optional(),
});
/** What a script displayed and wrote, as far as it fits into a line. */
export type WatchReport = z.infer<typeof ReportSchema>;

const joined = (value: unknown): unknown =>
  Array.isArray(value) && value.every((line) => typeof line === 'string') ? value.join('') : value;

/** Notebook files write text as a list of lines. */
const DataSchema = z
  .record(z.string(), z.unknown())
  .transform((data) =>
    Object.fromEntries(Object.entries(data).map(([type, value]) => [type, joined(value)])),
  );

const BundleSchema = z.object({
  data: DataSchema.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  mimeTypes: z.array(z.string()).optional(),
  isValue: z.boolean().default(false),
  problem: z.string().optional(),
});

/** MIME types without the `data` around them. */
const BareBundleSchema = z.record(z.string().regex(/^[\w.+-]+\/[\w.+-]+$/), z.unknown());

export function readReport(json: string): WatchReport | undefined {
  try {
    return ReportSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/** Relative to the working directory; undefined where all is said in the report. */
export function reportFile(token: string, report: WatchReport): string | undefined {
  if (report.problem !== undefined || (report.shown === 0 && !report.isLong)) return undefined;
  return `.colab-solver-${token}/${report.execution}.jsonl`;
}

export interface Watched {
  richOutputs: RichOutput[];
  changedFiles: SandboxFile[];
}

/** @param lines of the report's file; none where it has no file, or it cannot be had for the reason given. */
export function watched(report: WatchReport, lines: readonly string[], failure = ''): Watched {
  const [head = '', ...bundles] = lines;
  const { changed } = readReport(head) ?? report;
  const richOutputs = bundles.filter((line) => line !== '').map(toRichOutput);
  const missing = report.shown - richOutputs.length;
  const why = report.problem ?? failure;
  if (missing > 0)
    richOutputs.push(lost(richOutputs.length, `${missing} displays are lost: ${why}`));
  if (report.dropped > 0) {
    const most = `${report.dropped} more displays were not kept: of one script ${report.shown} are.`;
    richOutputs.push(lost(richOutputs.length, most));
  }
  const changedFiles = changed.map(([path, sizeBytes, time]) => ({
    path,
    sizeBytes,
    modifiedAt: new Date(time).toISOString(),
  }));
  return { richOutputs, changedFiles };
}

function lost(index: number, error: string): RichOutput {
  return { index, mimeTypes: [], error };
}

function toRichOutput(line: string, index: number): RichOutput {
  return { index, mimeTypes: [], ...toBundle(line) };
}

/** A Jupyter MIME bundle, as the watch writes it or a server keeps it. */
export function toBundle(json: string): Partial<RichOutput> {
  const parsed = readBundle(json);
  if (parsed === undefined) return { error: 'A display cannot be read.' };
  const { data, metadata = {}, isValue, problem } = parsed;
  const mimeTypes = parsed.mimeTypes ?? Object.keys(data ?? {});
  return {
    ...(mimeTypes.length > 0 && { mimeTypes }),
    ...(isValue && { isValue }),
    ...(data !== undefined && { data, sizeBytes: json.length }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(problem !== undefined && { error: `A display was not kept: ${problem}.` }),
  };
}

function readBundle(json: string): z.infer<typeof BundleSchema> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const bare = BareBundleSchema.safeParse(value);
    return BundleSchema.parse(bare.success ? { data: bare.data } : value);
  } catch {
    return undefined;
  }
}

/** Takes the watch's reports out of a stream of text, which may be cut anywhere. */
export class ReportFilter {
  readonly #start: string;
  #held = '';
  #report: WatchReport | undefined;

  constructor(token: string) {
    this.#start = `${MARK}colab-solver ${token} `;
  }

  /** The latest report that came by. */
  get report(): WatchReport | undefined {
    return this.#report;
  }

  /** The text without reports; what may be the beginning of one is held back. */
  add(text: string): string {
    let rest = this.#held + text;
    let passed = '';
    for (;;) {
      const start = this.#startIn(rest);
      passed += rest.slice(0, start);
      rest = rest.slice(start);
      const end = rest.indexOf(END, this.#start.length);
      if (end === -1) break;
      this.#report = readReport(rest.slice(this.#start.length, end)) ?? this.#report;
      rest = rest.slice(end + END.length);
    }
    this.#held = rest;
    return passed;
  }

  /** What was held back and turned out to be no report. */
  rest(): string {
    const held = this.#held;
    this.#held = '';
    return held.startsWith(this.#start) ? '' : held;
  }

  /** Where a report begins, or may begin at the end of the text. */
  #startIn(text: string): number {
    for (let at = text.indexOf(MARK); at !== -1; at = text.indexOf(MARK, at + 1)) {
      if (this.#start.startsWith(text.slice(at, at + this.#start.length))) return at;
    }
    return text.length;
  }
}

const MARK = '\u001E';
const END = `${MARK}\n`;
