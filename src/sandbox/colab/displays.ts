import { linkSignal } from '../../abort.js';
import { ColabSolverError } from '../../errors.js';
import type { ExecutionResult, RichOutput } from '../execution.js';
import type { RuntimeFiles } from './runtime-files.js';
import { reportFile, toBundle, watched } from './session-watch.js';
import type { WatchReport, Watched } from './session-watch.js';

export interface DisplayOptions {
  files: RuntimeFiles;
  /** Of the session's watch. */
  token: string;
  /** What the watch said of the script; absent where it said nothing. */
  report: WatchReport | undefined;
  signal: AbortSignal | undefined;
}

/** At most some 64 MiB, over a slow network. */
const FETCH_MS = 180_000;

/**
 * The result with what was displayed and which files changed. Costs a request only where something was displayed; what
 * cannot be fetched says so in its place, and no result is lost for it.
 */
export async function withDisplays(
  result: ExecutionResult,
  options: DisplayOptions,
): Promise<ExecutionResult> {
  const { report } = options;
  const ofServer = result.richOutputs.some(({ filePath }) => filePath !== undefined);
  if (report === undefined && !ofServer) return { ...result, changedFiles: [] };
  using limit = linkSignal(options.signal, FETCH_MS);
  const reported = report === undefined ? noReport : await ofReport(report, options, limit.signal);
  const richOutputs = ofServer
    ? await fetchBundles(result.richOutputs, options, limit.signal)
    : [...result.richOutputs, ...reported.richOutputs];
  return { ...result, ...reported, richOutputs };
}

const noReport = { richOutputs: [], changedFiles: [] };

async function ofReport(
  report: WatchReport,
  { files, token, signal }: DisplayOptions,
  limit: AbortSignal,
): Promise<Watched> {
  const path = reportFile(token, report);
  if (path === undefined) return watched(report, []);
  const text = await fetchText(files, path, { signal, limit });
  return typeof text === 'string'
    ? watched(report, text.split('\n'))
    : watched(report, [], text.message);
}

/** Where the server keeps what was displayed, it is told there. */
async function fetchBundles(
  outputs: readonly RichOutput[],
  { files, signal }: DisplayOptions,
  limit: AbortSignal,
): Promise<RichOutput[]> {
  const fetched: RichOutput[] = [];
  for (const output of outputs) {
    const path = pathInside(output.filePath);
    if (path === undefined) fetched.push(output);
    else {
      const text = await fetchText(files, path, { signal, limit });
      fetched.push(
        typeof text === 'string'
          ? { ...output, ...toBundle(text) }
          : { ...output, error: text.message },
      );
    }
  }
  return fetched;
}

const FOLDER = '/content/';

function pathInside(filePath: string | undefined): string | undefined {
  return filePath?.startsWith(FOLDER) === true ? filePath.slice(FOLDER.length) : undefined;
}

async function fetchText(
  files: RuntimeFiles,
  path: string,
  { signal, limit }: { signal: AbortSignal | undefined; limit: AbortSignal },
): Promise<string | Error> {
  try {
    return Buffer.from(await files.download(path, { signal: limit })).toString();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ColabSolverError || limit.aborted) return error as Error;
    throw error;
  }
}
