import type { Interrupts } from './cancellation.js';

/** What a command sees of the process it runs in. */
export interface CommandContext {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  /** Fires when the user asks to stop; the command then closes what it opened and rethrows the reason. */
  signal: AbortSignal;
  /** By which a command takes Ctrl-C for a part of its work. */
  interrupts: Interrupts;
}
