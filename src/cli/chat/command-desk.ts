import type { Chat } from '../../agent/chat/chat.js';
import type { Part } from '../../parts/part.js';
import type { ChatHost } from './chat-host.js';
import type { ScriptOutputs } from './script-outputs.js';

/** What commands work with. */
export interface CommandDesk {
  readonly chat: Chat;
  readonly host: ChatHost;
  readonly columns: number;
  readonly outputs: ScriptOutputs;
  /** Files that scripts made, by name, and where they are on this machine. */
  readonly savedFiles: ReadonlyMap<string, string>;
  /** The folder of the stored conversations. */
  readonly conversations: string;
  /** A line of what the command shows. It must be printable. */
  print(line: string): void;
  /** Says something beside it. */
  note(text: string): void;
  /** Shows on the status line what is being waited for. */
  waiting<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  ask(prompt: readonly Part[]): Promise<void>;
  runPython(code: string): Promise<void>;
  rerun(): Promise<void>;
  attach(paths: readonly string[]): Promise<void>;
  edit(): Promise<void>;
  showResumed(): void;
  leave(): void;
}
