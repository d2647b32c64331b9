import { createHash } from 'node:crypto';
import { ConfigError, ModelError } from '../errors.js';
import { textOf } from '../parts/content.js';
import type { Content } from '../parts/content.js';
import { emptyUsage } from '../parts/usage.js';
import { readLineAt, readLines } from './json-lines.js';
import type { FileLine } from './json-lines.js';
import type { Model, ModelEvent, ModelRequest, ModelResponse } from './model.js';
import { parseRecordedRun, readRecordedRuns } from './recorded-run.js';
import { lineOfCall, recordedTurns } from './recorded-turns.js';
import type { RecordedTurns } from './recorded-turns.js';

/** Where a run stands in the file. */
interface Place extends Omit<FileLine, 'text'> {
  promptHash: string;
}

/** By the hash of the trimmed prompt, in the order of the file. */
type Index = Map<string, Place[]>;

/** Where a request stands: its last prompt that was recorded, and all that came after. */
interface Position {
  places: readonly Place[];
  since: readonly Content[];
}

/**
 * A model that says again what the recorded runs of a JSONL file hold. The prompt picks the run, word for word but for
 * blanks around it; the number of responses since then picks the turn, so it serves any number of runs and chats at
 * once. Runs with the same prompt are used in turn. In memory is an index, half a kilobyte a run.
 * @throws {ConfigError} `UNREADABLE_FILE`, `BAD_RECORDED_RUN`, for any line of the file.
 */
export async function createReplayModel(
  path: string,
  options: { signal?: AbortSignal } = {},
): Promise<Model> {
  const index = await indexOf(path, options.signal);
  const started = new Map<string, number>();

  /** The run this request goes on with, or the next one where it begins. */
  function pick({ places, since }: Position): Place {
    const number = since
      .flatMap(({ parts }) => parts.map(lineOfCall))
      .find((line) => line !== undefined);
    const known = places.find((place) => place.number === number);
    if (known !== undefined) return known;
    const key = places.map((place) => place.number).join();
    const count = started.get(key) ?? 0;
    if (!since.some(isModel)) started.set(key, count + 1);
    return places[count % places.length] as Place;
  }

  async function* generate(
    request: ModelRequest,
  ): AsyncGenerator<ModelEvent, ModelResponse, undefined> {
    request.signal?.throwIfAborted();
    const position = positionOf(request.contents, index);
    if (position === undefined) throw await mismatch(path, index, request.contents);
    const { turns, isComplete } = await readTurns(path, pick(position));
    const said = position.since.filter(isModel).length;
    if (said >= turns.length && isComplete) throw await mismatch(path, index, request.contents);
    const parts = (turns[said] ?? []).filter(
      (part) => request.functionCalling === 'auto' || part.functionCall === undefined,
    );
    for (const { text, thought = false } of parts) {
      request.signal?.throwIfAborted();
      if (text !== undefined && text !== '') yield { type: 'text', text, thought };
    }
    return {
      content: { role: 'model', parts },
      finishReason: 'STOP',
      usage: { ...emptyUsage(), requests: 1 },
    };
  }

  return { id: `replay:${path}`, generate };
}

async function indexOf(path: string, signal: AbortSignal | undefined): Promise<Index> {
  const index: Index = new Map();
  for await (const line of readLines(path, signal === undefined ? {} : { signal })) {
    const { prompt } = parseRecordedRun(line, path);
    const { number, start, sizeBytes } = line;
    const key = hashOf(prompt.trim());
    const places = index.get(key) ?? [];
    places.push({ number, start, sizeBytes, promptHash: hashOf(prompt) });
    index.set(key, places);
  }
  if (index.size > 0) return index;
  throw new ConfigError(
    'BAD_RECORDED_RUN',
    `${path} holds no recorded run. Give a file with one run a line.`,
  );
}

/** A user content that no run begins with is a note to the model within the turn, not a prompt. */
function positionOf(contents: readonly Content[], index: Index): Position | undefined {
  for (let at = contents.length - 1; at >= 0; at -= 1) {
    const content = contents[at] as Content;
    const places = isModel(content) ? undefined : placesOf(content, index);
    if (places !== undefined) return { places, since: contents.slice(at + 1) };
  }
  return undefined;
}

function placesOf({ parts }: Content, index: Index): Place[] | undefined {
  const texts = [textOf(parts), ...parts.map((part) => part.text ?? '')];
  for (const text of texts) {
    const places = text.trim() === '' ? undefined : index.get(hashOf(text.trim()));
    if (places === undefined) continue;
    const exact = places.filter(({ promptHash }) => promptHash === hashOf(text));
    return exact.length > 0 ? exact : places;
  }
  return undefined;
}

async function readTurns(path: string, place: Place): Promise<RecordedTurns> {
  const run = parseRecordedRun({ text: await readLineAt(path, place), number: place.number }, path);
  if (hashOf(run.prompt) === place.promptHash) return recordedTurns(run, place.number);
  throw new ConfigError(
    'BAD_RECORDED_RUN',
    `${path}, line ${place.number} is not the run it was: the file has changed while in use. Start again.`,
  );
}

async function mismatch(
  path: string,
  index: Index,
  contents: readonly Content[],
): Promise<ModelError> {
  const prompt = textOf(contents.findLast((content) => !isModel(content))?.parts ?? []);
  const count = [...index.values()].reduce((sum, places) => sum + places.length, 0);
  return new ModelError(
    'REPLAY_MISMATCH',
    `${path} has no run (of ${count}) that goes on with ${quote(prompt)}. The nearest prompt it has is ` +
      `${quote(await nearestPrompt(path, prompt))}. Ask a recorded prompt word for word, or use a Gemini model.`,
  );
}

/** The recorded prompt with the largest share of words in common; the first one where none has any. */
async function nearestPrompt(path: string, prompt: string): Promise<string> {
  const words = wordsOf(prompt);
  let nearest = { prompt: '', likeness: -1 };
  for await (const run of readRecordedRuns(path)) {
    const others = wordsOf(run.prompt);
    const common = [...others].filter((word) => words.has(word)).length;
    const likeness = (2 * common) / Math.max(1, words.size + others.size);
    if (likeness > nearest.likeness) nearest = { prompt: run.prompt, likeness };
  }
  return nearest.prompt;
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return JSON.stringify(line.length > 160 ? `${line.slice(0, 160)}…` : line);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

function isModel({ role }: Content): boolean {
  return role === 'model';
}
