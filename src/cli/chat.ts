import type { ChatFlags } from './chat/chat-host.js';
import { lineChat } from './chat/line-chat.js';
import { TerminalChat } from './chat/terminal-chat.js';
import type { CommandContext } from './command-context.js';
import type { ExitCode } from './exit-code.js';
import { checkOutDirectory } from './save-files.js';
import { attachFiles } from '../agent/attached-file.js';

/** A conversation: on a terminal with everything, else line by line. */
export async function chatCommand(
  words: readonly string[],
  flags: ChatFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const files = [...words, ...(flags.file ?? [])];
  await attachFiles(files);
  if (flags.outDir !== undefined) await checkOutDirectory(flags.outDir);
  const { stdin, stdout, env } = context;
  if (!stdin.isTTY || !stdout.isTTY || env['TERM'] === 'dumb') {
    return lineChat(files, flags, context);
  }
  using terminal = new TerminalChat(flags, context);
  return await terminal.run(files);
}
