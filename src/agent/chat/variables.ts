import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { SandboxError } from '../../errors.js';
import type { Session } from '../../sandbox/sandbox.js';

/** Beside `src` and `dist` alike. */
const SOURCE = new URL('../../../python/list_variables.py', import.meta.url);
const LIMIT_MS = 10_000;

const VariableSchema = z.object({
  name: z.string(),
  /** Such as `DataFrame`. */
  type: z.string(),
  /** Such as `1000 × 12`, or `3 items`; empty where it has none. */
  shape: z.string(),
  /** Null where it cannot be known without asking code of the user's. */
  sizeBytes: z.number().nullable(),
  /** A short number, text or truth value as Python writes it, else empty. */
  value: z.string(),
});
/** A variable of a session, as far as it can be seen without running any code of it. */
export type Variable = z.infer<typeof VariableSchema>;

const ListSchema = z.object({ variables: z.array(VariableSchema), left: z.number() });
/** The first variables by name, and how many more there are. */
export type VariableList = z.infer<typeof ListSchema>;

/** @throws {SandboxError} where the session cannot say; the signal's reason when cancelled. */
export async function listVariables(session: Session, signal: AbortSignal): Promise<VariableList> {
  const source = JSON.stringify(readFileSync(SOURCE, 'utf8'));
  const code = `exec(compile(${source}, '<variables>', 'exec'), {'__name__': 'list_variables'})`;
  const result = await session.execute(code, { signal, timeoutMs: LIMIT_MS });
  const lastLine = result.stdout.trimEnd().split('\n').at(-1) ?? '';
  try {
    return ListSchema.parse(JSON.parse(lastLine));
  } catch (cause) {
    const why =
      result.status === 'failed' ? `${result.error.name}: ${result.error.value}` : result.status;
    throw new SandboxError(
      'UNKNOWN',
      `The variables of the session cannot be listed (${why}). Ask the model, or print them yourself.`,
      { cause },
    );
  }
}
