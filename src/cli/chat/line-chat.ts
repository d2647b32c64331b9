import { createInterface } from 'node:readline';
import type { CommandContext } from '../command-context.js';
import { exitCodes } from '../exit-code.js';
import type { ExitCode } from '../exit-code.js';
import { printable } from '../render/printable.js';
import { RunView } from '../render/run-view.js';
import { NOWHERE, Screen } from '../render/screen.js';
import { ChatHost } from './chat-host.js';
import type { ChatFlags } from './chat-host.js';
import { ChatSession } from './chat-session.js';

const PROMPT = '> ';

/**
 * The chat for a pipe or a terminal that can do nothing but print: each line is a message, one that ends with `\` goes on
 * with the next. Answers and what commands show go to standard output, all else to standard error.
 */
export async function lineChat(
  files: readonly string[],
  flags: ChatFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdin, stdout, stderr, env, signal, interrupts } = context;
  const log = flags.logLevel === 'silent' ? NOWHERE : stderr;
  const screen = new Screen({ log, env });
  const view = new RunView(screen, { isChat: true, holdsAnswer: true });
  await using host = await ChatHost.open(flags, context, (text) => {
    view.notice(text);
  });
  const write = (text: string): void => {
    stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  };
  const surface = {
    screen,
    view,
    print: write,
    showAnswer: (text: string) => {
      if (text !== '') write(stdout.isTTY ? printable(text) : text);
    },
    showImage: () => Promise.resolve(),
    edit: undefined,
  };
  const session = new ChatSession(host, surface, flags, context);
  const asks = (): void => {
    if (stdin.isTTY && !session.hasLeft) stdout.write(PROMPT);
  };
  const ending = { isStopped: false };
  const lines = createInterface({ input: stdin, signal, crlfDelay: Infinity });
  using _ = interrupts.take(() => {
    if (session.isStopping) process.exit(exitCodes.cancelled);
    if (session.isBusy) session.stop();
    else {
      ending.isStopped = true;
      session.leave();
      lines.close();
    }
  });
  try {
    if (session.chat.turns.length > 0) session.showResumed();
    if (files.length > 0) await session.attach(files);
    asks();
    for await (const message of messages(lines)) {
      if (message.trim() !== '') await session.perform(message);
      signal.throwIfAborted();
      if (session.hasLeft) break;
      asks();
    }
    signal.throwIfAborted();
  } finally {
    lines.close();
    stdin.destroy();
  }
  return ending.isStopped ? exitCodes.cancelled : session.exitCode;
}

async function* messages(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let begun = '';
  for await (const line of lines) {
    if (line.endsWith('\\')) {
      begun += `${line.slice(0, -1)}\n`;
      continue;
    }
    yield begun + line;
    begun = '';
  }
  if (begun !== '') yield begun;
}
