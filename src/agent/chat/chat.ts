import type { RunLimits } from '../../config.js';
import type { Content } from '../../parts/content.js';
import type { CodeExecutionResult, Part } from '../../parts/part.js';
import type { Usage } from '../../parts/usage.js';
import type { AttachedFile } from '../attached-file.js';
import type { RunEvent, SolveResult } from '../events.js';
import type { Model } from '../model.js';
import type { RecordedRun } from '../recorded-run.js';
import type { ChatTurn } from './conversation-state.js';
import type { VariableList } from './variables.js';

export interface ChatOptions {
  /** Goes on with a stored conversation: its id or the end of it, or `latest`. */
  resume?: string | undefined;
  /**
   * Whether the conversation is written down as it goes, in the folder `conversations` of the state folder
   * (`COLAB_SOLVER_HOME`). Default true.
   */
  isStored?: boolean | undefined;
  /** Tokens that the conversation may take of the model's window, before early turns are shortened. Default 800,000. */
  contextTokens?: number | undefined;
}

export interface SendOptions extends RunLimits {
  /** Paths of files to attach, for this turn and all later ones. */
  files?: readonly string[] | undefined;
  /** Cancels the turn; its reason is rethrown once the kernel has been interrupted. The chat goes on. */
  signal?: AbortSignal | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/**
 * A conversation over one session: later turns see the variables and files of earlier ones. One thing goes on at a
 * time; what is asked for meanwhile is refused with `BAD_OPTION`. Failed and cancelled turns stay in the history in a form
 * that the model can go on from; after an error the next turn may be sent as usual.
 */
export interface Chat extends AsyncDisposable {
  /** Under which the conversation is stored and can be resumed. */
  readonly id: string;
  readonly model: string;
  /** Where scripts run, for people; undefined until it has been opened. */
  readonly runtime: string | undefined;
  readonly turns: readonly ChatTurn[];
  /** The conversation as people are shown it. */
  readonly contents: readonly Content[];
  /** Of everything so far, turns taken back included. */
  readonly usage: Usage;
  /** Attached so far. */
  readonly files: readonly AttachedFile[];
  /** True while a session with variables is open. */
  readonly hasSession: boolean;
  /**
   * One turn to its end.
   * @throws {ConfigError} {@link ModelError} {@link SandboxError}, or the reason when cancelled.
   */
  send(prompt: string | readonly Part[], options?: SendOptions): Promise<SolveResult>;
  /** The same, event by event; `run-end` is the last. Leaving the loop early cancels the turn. */
  stream(
    prompt: string | readonly Part[],
    options?: SendOptions,
  ): AsyncGenerator<RunEvent, SolveResult, undefined>;
  /** Runs Python of the user's in the session; the model hears of it with the next turn. */
  run(
    code: string,
    options?: CallOptions,
  ): AsyncGenerator<RunEvent, CodeExecutionResult, undefined>;
  /** Stops what goes on, if anything does, and resolves when it has ended; variables stay. */
  cancel(reason?: Error): Promise<void>;
  /** Takes the last turn out of the history; variables and files stay. Undefined where there is none. */
  undo(): ChatTurn | undefined;
  /** Forgets all turns and closes the session; attached files stay attached. */
  reset(): Promise<void>;
  /** Runs the scripts of the history again, in order, such as after resuming. Those that were stopped are left out. */
  rerun(options?: CallOptions): AsyncGenerator<RunEvent, void, undefined>;
  /** @throws {ConfigError} `UNREADABLE_FILE`, before any of them is attached. */
  attach(paths: readonly string[], options?: CallOptions): Promise<void>;
  /** The session's variables; no code of theirs is run. None where there is no session yet. */
  variables(options?: CallOptions): Promise<VariableList>;
  /** Another model from the next turn on; by id as in `createSolver`. */
  useModel(model: string | Model): Promise<void>;
  /** The conversation as it is stored elsewhere: JSON that `replay` reads back, its prompt the first one. */
  toRecordedRun(): RecordedRun;
  /**
   * Writes the conversation to a file, in the form its ending names: `.ipynb`, `.md`, `.html` or `.jsonl`. Unless `force`
   * is set a file that is there stays and this one gets a number. Returns the path it has.
   * @throws {ConfigError} `BAD_OPTION` for another ending, where nothing was said yet, or it cannot be written.
   */
  save(path: string, options?: { force?: boolean }): Promise<string>;
  /** Ends what goes on and closes the session; the stored conversation can be resumed. */
  close(): Promise<void>;
}
