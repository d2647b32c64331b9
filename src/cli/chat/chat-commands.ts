import type { ChatTurn } from '../../agent/chat/conversation-state.js';
import { storedConversations } from '../../agent/chat/conversation-file.js';
import { countOf, formatBytes, formatCount } from '../render/amounts.js';
import { fitWidth } from '../render/display-width.js';
import { printable } from '../render/printable.js';
import { tableLines } from '../render/table.js';
import { expandHome } from './mentions.js';
import type { CommandDesk } from './command-desk.js';
import { headline } from './turn-headline.js';

export interface ChatCommand {
  name: string;
  /** What comes behind the name; empty where nothing does. */
  argument: string;
  summary: string;
  perform(desk: CommandDesk, argument: string): Promise<void> | void;
}

export const chatCommands: readonly ChatCommand[] = [
  { name: '/help', argument: '', summary: 'this list', perform: showHelp },
  {
    name: '/files',
    argument: '',
    summary: 'attached files and those that scripts made',
    perform: showFiles,
  },
  {
    name: '/attach',
    argument: '<path …>',
    summary: 'put files where scripts find them; @path in a message does, too',
    perform: attach,
  },
  { name: '/vars', argument: '', summary: 'variables of the session', perform: showVariables },
  {
    name: '/run',
    argument: '<python>',
    summary: 'run Python of your own in the session',
    perform: (desk, code) => desk.runPython(code),
  },
  {
    name: '/show',
    argument: '[n]',
    summary: 'all that script n printed; the last one without a number',
    perform: showOutput,
  },
  { name: '/history', argument: '', summary: 'what was asked so far', perform: showHistory },
  {
    name: '/undo',
    argument: '',
    summary: 'take the last turn back; variables stay',
    perform: undo,
  },
  {
    name: '/retry',
    argument: '',
    summary: 'take the last turn back and ask the same again',
    perform: retry,
  },
  {
    name: '/rerun',
    argument: '',
    summary: 'run the scripts so far again, to have their variables back',
    perform: (desk) => desk.rerun(),
  },
  {
    name: '/reset',
    argument: '',
    summary: 'forget the conversation, and begin in a fresh session',
    perform: reset,
  },
  {
    name: '/model',
    argument: '[id]',
    summary: 'the model, or another one from now on',
    perform: model,
  },
  {
    name: '/sandbox',
    argument: '[where]',
    summary: 'where scripts run, or another place (local, colab, a URL)',
    perform: sandbox,
  },
  { name: '/usage', argument: '', summary: 'requests and tokens so far', perform: showUsage },
  {
    name: '/edit',
    argument: '',
    summary: 'write a message in $EDITOR',
    perform: (desk) => desk.edit(),
  },
  {
    name: '/save',
    argument: '<file>',
    summary: 'write the conversation as .ipynb, .md, .html or .jsonl',
    perform: save,
  },
  {
    name: '/resume',
    argument: '[id]',
    summary: 'stored conversations, or go on with one of them',
    perform: resume,
  },
  {
    name: '/exit',
    argument: '',
    summary: 'leave; so does Ctrl-D',
    perform: (desk) => {
      desk.leave();
    },
  },
];

export function findCommand(
  message: string,
): { command: ChatCommand | undefined; argument: string } | undefined {
  const match = /^(\/[a-z]+)(?:\s+([\s\S]*))?$/i.exec(message.trim());
  if (match === null) return undefined;
  const name = match[1]?.toLowerCase();
  const command =
    chatCommands.find((each) => each.name === name) ??
    (name === '/quit' ? chatCommands.at(-1) : undefined);
  return { command, argument: match[2]?.trim() ?? '' };
}

function showHelp(desk: CommandDesk): void {
  const rows = chatCommands.map(({ name, argument, summary }) => [
    `${name} ${argument}`.trim(),
    summary,
  ]);
  for (const line of hanging(rows, desk.columns)) desk.print(line);
  desk.print('');
  desk.note(
    'A \\ at the end of a line goes on with the message, a paste is one message, @path attaches a file. ' +
      'Ctrl-C stops a turn and nothing else; twice on an empty line, or Ctrl-D, leaves.',
  );
}

/** Two columns; where the second does not fit beside the first it goes on below. */
function hanging(rows: readonly string[][], columns: number): string[] {
  const left = Math.max(...rows.map(([name = '']) => name.length)) + 2;
  return rows.flatMap(([name = '', summary = '']) => {
    const width = columns - left - 2;
    const pieces = wrapPlain(summary, Math.max(20, width));
    return pieces.map((piece, index) => `  ${(index === 0 ? name : '').padEnd(left)}${piece}`);
  });
}

function wrapPlain(text: string, columns: number): string[] {
  const rows = [''];
  for (const word of text.split(' ')) {
    const row = rows.at(-1) ?? '';
    if (row !== '' && row.length + 1 + word.length > columns) rows.push(word);
    else rows[rows.length - 1] = row === '' ? word : `${row} ${word}`;
  }
  return rows;
}

function showFiles(desk: CommandDesk): void {
  const attached = desk.chat.files.map(({ name, sizeBytes, path }) => [
    name,
    formatBytes(sizeBytes),
    `attached from ${path}`,
  ]);
  const made = [...desk.savedFiles].map(([name, path]) => [name, '', `saved as ${path}`]);
  table(
    desk,
    [...attached, ...made],
    'No files yet. /attach <path> puts one where scripts find it.',
  );
}

async function attach(desk: CommandDesk, argument: string): Promise<void> {
  const paths = [...argument.matchAll(/"([^"]+)"|(\S+)/g)].map(([, quoted, plain]) =>
    expandHome(quoted ?? plain ?? ''),
  );
  if (paths.length === 0) {
    desk.note('Which file? /attach <path …>');
    return;
  }
  await desk.attach(paths);
}

async function showVariables(desk: CommandDesk): Promise<void> {
  const { variables, left } = await desk.waiting('looking at the variables', (signal) =>
    desk.chat.variables({ signal }),
  );
  const rows = variables.map(({ name, type, shape, sizeBytes, value }) => [
    printable(name),
    printable(type),
    shape,
    sizeBytes === null ? '' : formatBytes(sizeBytes),
    printable(value),
  ]);
  table(desk, rows, 'No variables yet.');
  if (left > 0) desk.note(`… and ${countOf(left, 'more', 'more')}.`);
}

function showOutput(desk: CommandDesk, argument: string): void {
  const output = desk.outputs.of(argument === '' ? undefined : Number(argument));
  if (output === undefined) desk.note(`There is no output of script ${argument || 'any'} here.`);
  else for (const line of printable(output).trimEnd().split('\n')) desk.print(line);
}

function showHistory(desk: CommandDesk): void {
  const rows = desk.chat.turns.map((turn, index) => [
    `${index + 1}`,
    headline(turn),
    turnStatus(turn),
  ]);
  table(
    desk,
    rows.map(([number = '', text = '', status = '']) => [
      number,
      fitWidth(text, Math.max(20, desk.columns - 30)),
      status,
    ]),
    'Nothing was said yet.',
  );
}

function turnStatus({ status, executions }: ChatTurn): string {
  return executions === 0 ? status : `${status}, ${countOf(executions, 'script')}`;
}

function undo(desk: CommandDesk): void {
  const turn = desk.chat.undo();
  if (turn === undefined) desk.note('There is no turn to take back.');
  else
    desk.note(
      `Taken back: ${fitWidth(headline(turn), 60)}. Variables and files of its scripts stay as they are.`,
    );
}

async function retry(desk: CommandDesk): Promise<void> {
  const turn = desk.chat.turns.at(-1);
  if (turn === undefined) {
    desk.note('There is no turn to repeat.');
    return;
  }
  desk.chat.undo();
  if (turn.kind === 'python') await desk.runPython(turn.prompt[0]?.executableCode?.code ?? '');
  else await desk.ask(turn.prompt);
}

async function reset(desk: CommandDesk): Promise<void> {
  await desk.chat.reset();
  desk.note(
    'The conversation is forgotten. The next script runs in a fresh session; attached files will be there.',
  );
}

async function model(desk: CommandDesk, argument: string): Promise<void> {
  if (argument !== '') await desk.chat.useModel(argument);
  desk.note(`Model: ${desk.chat.model}`);
}

async function sandbox(desk: CommandDesk, argument: string): Promise<void> {
  if (argument !== '') {
    const had = desk.chat.hasSession;
    await desk.host.useSandbox(argument);
    if (had) desk.note('Variables did not come along; /rerun runs the scripts so far again.');
  }
  desk.note(
    `Sandbox: ${desk.host.where} · ${desk.chat.runtime ?? 'opened when the first script runs'}`,
  );
}

function showUsage(desk: CommandDesk): void {
  const { usage, turns } = desk.chat;
  table(desk, [
    ['turns', formatCount(turns.length)],
    ['requests', formatCount(usage.requests)],
    ['prompt tokens', formatCount(usage.promptTokenCount)],
    ['answer tokens', formatCount(usage.candidatesTokenCount)],
    ['thought tokens', formatCount(usage.thoughtsTokenCount)],
    ['all tokens', formatCount(usage.totalTokenCount)],
  ]);
}

async function save(desk: CommandDesk, argument: string): Promise<void> {
  if (argument === '') desk.note('Under which name? /save <file.ipynb|.md|.html|.jsonl>');
  else desk.note(`Saved ${await desk.chat.save(expandHome(argument))}`);
}

async function resume(desk: CommandDesk, argument: string): Promise<void> {
  if (argument !== '') {
    await desk.host.resume(argument);
    desk.showResumed();
    return;
  }
  const stored = storedConversations(desk.conversations).slice(0, 20);
  const rows = stored.map(({ id, changedAt }) => [
    id,
    new Date(changedAt).toLocaleString('sv-SE').slice(0, 16),
    id === desk.chat.id ? 'this one' : '',
  ]);
  table(desk, rows, 'There are no stored conversations yet.');
}

function table(desk: CommandDesk, rows: readonly string[][], ifEmpty = ''): void {
  if (rows.length === 0) desk.note(ifEmpty);
  else for (const line of tableLines(rows)) desk.print(`  ${fitWidth(line, desk.columns - 2)}`);
}
