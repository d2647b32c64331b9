import { z } from 'zod';

const Text = z.string().optional().catch(undefined);
const Count = z.number().nonnegative().optional().catch(undefined);

/**
 * What is known of how a run came about: the `metadata` of a recorded run, of which a field that is absent or not as we
 * write it is undefined here.
 */
export const RunDetailsSchema = z.object({
  model: Text,
  /** The place where scripts ran, for people. */
  runtime: Text,
  /** RFC 3339. */
  startedAt: Text,
  status: Text,
  reason: Text,
  steps: Count,
  executions: Count,
  durationMs: Count,
  usage: z.looseObject({ totalTokenCount: Count, requests: Count }).optional().catch(undefined),
  /** By program, such as `{"colab-solver": "0.1.0"}`. */
  versions: z.record(z.string(), z.string()).optional().catch(undefined),
  /** Attached by the caller, to be found in the working directory. */
  files: z
    .array(z.object({ name: z.string(), sizeBytes: Count }))
    .optional()
    .catch(undefined),
});

export type RunDetails = z.infer<typeof RunDetailsSchema>;

export function runDetails(metadata: unknown): RunDetails {
  return RunDetailsSchema.catch({}).parse(metadata ?? {});
}

/** Such as `gemini-flash-latest · local sandbox · 2026-03-01 14:05 UTC · answered · 3 steps, 2 scripts · 12.3 s · 4,210 tokens`. */
export function detailsLine(details: RunDetails): string {
  const { model, runtime, startedAt, status, steps, executions, durationMs, usage } = details;
  const counts = [counted(steps, 'step'), counted(executions, 'script')].filter(isSaid).join(', ');
  return [
    model,
    runtime,
    dateText(startedAt),
    status,
    counts === '' ? undefined : counts,
    durationMs === undefined ? undefined : `${(durationMs / 1000).toFixed(1)} s`,
    usage?.totalTokenCount === 0 ? undefined : counted(usage?.totalTokenCount, 'token'),
  ]
    .filter(isSaid)
    .join(' · ');
}

/** To the minute, as `2026-03-01 14:05 UTC`. */
function dateText(startedAt: string | undefined): string | undefined {
  return startedAt?.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d).*Z$/, '$1 $2 UTC');
}

function counted(count: number | undefined, unit: string): string | undefined {
  if (count === undefined) return undefined;
  return `${count.toLocaleString('en-US')} ${unit}${count === 1 ? '' : 's'}`;
}

function isSaid(text: string | undefined): text is string {
  return text !== undefined;
}
