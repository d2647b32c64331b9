import type { SessionLease } from '../agent/session-source.js';
import type { Usage } from '../parts/usage.js';
import type { Session } from '../sandbox/sandbox.js';
import type { Grader, GraderFault, GraderOptions, Judge } from './grader.js';
import { chooseGrader, graderTable } from './graders.js';
import type { Sample } from './sample.js';

/** What a grader came to, or that there was nothing to compare with. */
export interface Graded {
  /** Null where there is nothing to compare with. */
  correct: boolean | null;
  answer: string | null;
  explanation: string;
  /** Null where there is nothing to compare with. */
  grader: string | null;
  usage?: Usage;
}

/** Judges the answers of a whole batch. */
export interface Grading {
  /** What is wrong with a sample's grader, target or options; found out before anything runs. */
  check: (sample: Sample) => GraderFault | undefined;
  /** The name of the grader that judges the sample; null where there is nothing to compare with. */
  graderOf(sample: Sample): string | null;
  /** @throws as the grader does; a session that it asked for has been given back by then. */
  grade(sample: Sample, text: string, options: { signal: AbortSignal }): Promise<Graded>;
}

export interface GradingOptions {
  /** Beside the built-in ones, or in place of those of the same name. */
  custom?: readonly Grader[] | undefined;
  /** For every sample, whatever it names itself. */
  grader?: string | undefined;
  /** For every sample, before its own. */
  graderOptions?: GraderOptions | undefined;
  /** Where scripts of graders run; absent where nothing may run. */
  lease?: ((signal: AbortSignal) => Promise<SessionLease>) | undefined;
  /** Absent where no model may be asked. */
  judge?: Judge | undefined;
}

export function createGrading(options: GradingOptions): Grading {
  const table = graderTable(options.custom);
  const choose = (sample: Sample) => chooseGrader(asked(sample, options), table);
  return {
    check(sample) {
      const choice = choose(sample);
      return choice !== undefined && 'fault' in choice ? choice.fault : undefined;
    },
    graderOf(sample) {
      const choice = choose(sample);
      return choice !== undefined && 'grader' in choice ? choice.grader.name : null;
    },
    async grade(sample, text, { signal }) {
      const choice = choose(sample);
      if (choice === undefined || !('grader' in choice)) return NOTHING_TO_COMPARE;
      await using sessions = new GradingSession(options.lease);
      const context = {
        signal,
        sample,
        options: choice.options,
        session: sessions.open,
        judge: options.judge,
      };
      const verdict = await choice.grader.grade(text, sample.target, context);
      return { ...verdict, grader: choice.grader.name };
    },
  };
}

const NOTHING_TO_COMPARE: Graded = {
  correct: null,
  answer: null,
  explanation: 'Not graded: the sample has no target.',
  grader: null,
};

function asked(sample: Sample, { grader, graderOptions }: GradingOptions): Sample {
  return {
    ...sample,
    ...(grader !== undefined && { grader }),
    ...(graderOptions !== undefined && { options: { ...sample.options, ...graderOptions } }),
  };
}

/** One session for all scripts of one grading, leased when it is first asked for. */
class GradingSession implements AsyncDisposable {
  readonly open: ((options: { signal: AbortSignal }) => Promise<Session>) | undefined;
  #lease: Promise<SessionLease> | undefined;

  constructor(lease: GradingOptions['lease']) {
    if (lease === undefined) return;
    this.open = async ({ signal }) => {
      this.#lease ??= lease(signal);
      return (await this.#lease).session;
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Where none could be had, the grader was told.
    const lease = await this.#lease?.catch(() => undefined);
    await lease?.release();
  }
}
