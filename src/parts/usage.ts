import { z } from 'zod';

/**
 * Token counts as in Gemini's `usageMetadata`, summed over requests.
 * Cached tokens are inside `promptTokenCount`; tokens of Google's own tools are in `totalTokenCount` alone.
 */
export interface Usage {
  promptTokenCount: number;
  candidatesTokenCount: number;
  thoughtsTokenCount: number;
  totalTokenCount: number;
  /** Requests sent to the model, failed ones included. */
  requests: number;
}

const Count = z.int().nonnegative().optional().catch(undefined);
const UsageMetadataSchema = z
  .object({
    promptTokenCount: Count,
    candidatesTokenCount: Count,
    thoughtsTokenCount: Count,
    toolUsePromptTokenCount: Count,
    totalTokenCount: Count,
  })
  .catch({});

/** The counts one response has stated so far. */
export type TokenCounts = Partial<Record<keyof z.infer<typeof UsageMetadataSchema>, number>>;

/**
 * Takes a chunk's `usageMetadata`, of whatever shape, into the counts so far. Within a response counts are running
 * totals, so the later value stands; a chunk that lacks a field leaves it as it was.
 */
export function laterCounts(counts: TokenCounts, usageMetadata: unknown): TokenCounts {
  const stated = Object.entries(UsageMetadataSchema.parse(usageMetadata)).filter(
    ([, count]) => count !== undefined,
  );
  return { ...counts, ...Object.fromEntries(stated) };
}

/** One request's usage. Counts never stated are 0; a total never stated is the sum of the others. */
export function requestUsage(counts: TokenCounts): Usage {
  const {
    promptTokenCount = 0,
    candidatesTokenCount = 0,
    thoughtsTokenCount = 0,
    toolUsePromptTokenCount = 0,
  } = counts;
  const sum =
    promptTokenCount + candidatesTokenCount + thoughtsTokenCount + toolUsePromptTokenCount;
  return {
    promptTokenCount,
    candidatesTokenCount,
    thoughtsTokenCount,
    totalTokenCount: counts.totalTokenCount ?? sum,
    requests: 1,
  };
}

export function emptyUsage(): Usage {
  return {
    promptTokenCount: 0,
    candidatesTokenCount: 0,
    thoughtsTokenCount: 0,
    totalTokenCount: 0,
    requests: 0,
  };
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    promptTokenCount: a.promptTokenCount + b.promptTokenCount,
    candidatesTokenCount: a.candidatesTokenCount + b.candidatesTokenCount,
    thoughtsTokenCount: a.thoughtsTokenCount + b.thoughtsTokenCount,
    totalTokenCount: a.totalTokenCount + b.totalTokenCount,
    requests: a.requests + b.requests,
  };
}
