import { buffer } from 'node:stream/consumers';
import { abortable } from '../abort.js';
import { ConfigError } from '../errors.js';
import type { CommandContext } from './command-context.js';

const QUOTED = `colab-solver solve "How many primes are below one million?"`;

/** The one prompt among a command's words; `-` reads it from standard input. */
export async function promptText(
  words: readonly string[],
  context: CommandContext,
): Promise<string> {
  const [word, ...others] = words;
  if (word === undefined) {
    throw new ConfigError(
      'EMPTY_PROMPT',
      `solve needs a prompt, in quotes, or - to read it from standard input: ${QUOTED}`,
    );
  }
  if (others.length > 0) {
    throw new ConfigError(
      'BAD_OPTION',
      `solve takes one prompt but was given ${words.length} words. Put the prompt in quotes: colab-solver solve "${words.join(' ')}"`,
    );
  }
  const prompt = word === '-' ? await readInput(context) : word;
  if (prompt.trim() === '') {
    const source = word === '-' ? 'Standard input was empty' : 'The prompt is empty';
    throw new ConfigError('EMPTY_PROMPT', `${source}. Ask something, such as ${QUOTED}`);
  }
  return prompt;
}

async function readInput({ stdin, stderr, signal }: CommandContext): Promise<string> {
  if (stdin.isTTY) stderr.write('Type the prompt, then Ctrl-D on a line of its own.\n');
  try {
    const bytes = await abortable(buffer(stdin), signal);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).trimEnd();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigError(
      'BAD_OPTION',
      'The prompt on standard input is not UTF-8 text. Attach other files with --file <path>.',
      { cause: error },
    );
  } finally {
    stdin.destroy();
  }
}
