/** What a check found. */
export interface Check {
  name: string;
  /** `skipped`: nothing to check, such as an account that is not set up. */
  state: 'ok' | 'failed' | 'skipped';
  /** Needed to run anything at all with the local sandbox. */
  isRequired: boolean;
  found: string;
  /** What to do; absent where nothing is. */
  remedy?: string;
}

export interface CheckOptions {
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** A check that asks a server gives up after this long. */
export const PROBE_TIMEOUT_MS = 10_000;
