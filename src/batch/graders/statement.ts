/** A place of a text where the answer may stand. */
export interface Statement {
  /** Box: inside the braces; else from the first word of the answer on. */
  text: string;
  /** What follows in the same sentence or line, such as a unit behind a box. */
  after: string;
  form: 'box' | 'tag' | 'label' | 'phrase' | 'correction' | 'sentence';
  /** All boxes of the same passage, in order, where there is one box for each value. */
  boxes?: string[];
}

interface Mark {
  start: number;
  end: number;
  statement: Statement;
}

/**
 * Where the answer stands, the likeliest place first: what corrects it, then the last explicit form (a box, an answer tag,
 * `####`, "Answer:", "the answer is"), then, where there is none, the sentences from the last one back. The text must be folded.
 */
export function* statementsOf(folded: string): Generator<Statement> {
  const text = withoutInventedQuestions(folded);
  const marks = [...boxes(text), ...tags(text), ...labels(text)].sort((a, b) => a.start - b.start);
  const last = marks.findLast(({ statement }) => statement.text !== '');
  if (last === undefined) {
    yield* corrections(text, 0);
    yield* sentencesFromTheEnd(text);
    return;
  }
  yield* corrections(text, last.start);
  yield last.statement;
  if (last.statement.form !== 'phrase') return;
  // "The answer is clear" is no answer; what was said before may be.
  for (const mark of marks.reverse()) {
    if (mark.start < last.start && mark.statement.text !== '') {
      yield mark.statement;
      if (mark.statement.form !== 'phrase') return;
    }
  }
  yield* sentencesFromTheEnd(text);
}

/** Some models go on with a question of their own once they have answered. */
function withoutInventedQuestions(text: string): string {
  const answered = /\\boxed|####|<\/answer>|answer[ \t]{0,3}(?:is\b|:)/i.exec(text);
  if (answered === null) return text;
  const opening =
    /^[ \t]{0,20}(?:#{1,6}[ \t]{0,3})?(?:question|problem|user|human|instruction|exercise|q)(?:[ \t]{0,3}\d{1,6})?[ \t]{0,3}:/gim;
  opening.lastIndex = answered.index;
  const question = opening.exec(text);
  return question === null ? text : text.slice(0, question.index);
}

function* boxes(text: string): Generator<Mark> {
  const found: (Mark & { paragraph: number })[] = [];
  const opening = /\\(?:boxed|fbox)[ \t]*/g;
  let paragraph = 0;
  let passedTo = 0;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const from = match.index + match[0].length;
    const content =
      text[from] === '{'
        ? braced(text, from)
        : /^[^\s$]{1,40}/.exec(text.slice(from, from + 40))?.[0];
    if (content === undefined) continue;
    const end = from + content.length + (text[from] === '{' ? 2 : 0);
    if (/\n|[.!?]\s/.test(text.slice(passedTo, match.index))) paragraph += 1;
    passedTo = end;
    const statement: Statement = {
      text: content.trim(),
      after: restOfSentence(text, end),
      form: 'box',
    };
    found.push({ start: match.index, end, statement, paragraph });
    opening.lastIndex = end;
  }
  const siblings = found
    .filter((mark) => mark.paragraph === paragraph)
    .map(({ statement }) => statement.text);
  for (const mark of found) {
    mark.statement.boxes = mark.paragraph === paragraph ? siblings : [mark.statement.text];
    yield mark;
  }
}

/** What stands between the brace at `from` and its partner; undefined where it has none nearby. */
function braced(text: string, from: number): string | undefined {
  let depth = 0;
  const limit = Math.min(text.length, from + 20_000);
  for (let index = from; index < limit; index++) {
    const sign = text[index];
    if (sign === '\\') index += 1;
    else if (sign === '{') depth += 1;
    else if (sign === '}' && --depth === 0) return text.slice(from + 1, index);
  }
  return undefined;
}

function* tags(text: string): Generator<Mark> {
  const tag = /<(answer|final_answer|final|ans)>/gi;
  for (let match = tag.exec(text); match !== null; match = tag.exec(text)) {
    const from = match.index + match[0].length;
    const closing = indexFrom(text, new RegExp(`</${String(match[1])}>`, 'gi'), from);
    if (closing < 0) return;
    const inner = text.slice(from, closing).trim();
    // A box inside says it more exactly.
    if (!inner.includes('\\boxed')) {
      yield {
        start: match.index,
        end: closing,
        statement: { text: inner, after: '', form: 'tag' },
      };
    }
    tag.lastIndex = closing;
  }
}

function indexFrom(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}

const WORDS_BEFORE = '(?:(?:final|correct|right|my|the|short|exact|best)[ \\t]{1,3}){0,4}';
const ANSWER_WORD =
  '(?:answers?|antwort|lösung|réponse|respuesta|resposta|risposta|antwoord|svar|svaret|ответ)(?![\\p{L}\\d])|答案|答え|답';
const ASIDE =
  '[ \\t]{0,3}(?:\\([^()\\n]{0,40}\\)[ \\t]{0,3})?(?:(?:choice|option|letter)[ \\t]{0,3})?';
const JOINT =
  '((?:(?:(?:therefore|thus|then|hence|so|would|should|must)[ \\t]{1,3})?(?:is(?!\\p{L})|be(?!\\p{L})|are(?!\\p{L})|lautet|ist|est(?!\\p{L})|es(?!\\p{L})|è|é|är|是|为|は|=>?|→|[:：])[ \\t]{0,3}){1,3})';
const LABEL = new RegExp(
  `####|(?<![\\p{L}\\d])${WORDS_BEFORE}(?:${ANSWER_WORD})${ASIDE}${JOINT}|` +
    '(?:^|\\n)[ \\t]{0,20}(?:(?:final|end)[ \\t]{1,3})?(?:result|solution|ergebnis|résultat|resultado|conclusion|total|output)[ \\t]{0,3}(:)',
  'giu',
);

function* labels(text: string): Generator<Mark> {
  for (const match of text.matchAll(LABEL)) {
    const end = match.index + match[0].length;
    const [line, from] = lineFrom(text, end);
    if (line.includes('\\boxed')) continue;
    const joint = match[1] ?? match[2];
    const isHard = joint === undefined || /[:=：]/.test(joint) || /final/i.test(match[0]);
    yield {
      start: match.index,
      end: from + line.length,
      statement: { text: line.trim(), after: '', form: isHard ? 'label' : 'phrase' },
    };
  }
}

/** What stands further on in a line is not its answer. */
const MAX_LINE = 20_000;

/** The rest of the line, or the next line that says something. */
function lineFrom(text: string, from: number): [string, number] {
  const nothing = /[\s$*_[\]\\{}]*/y;
  nothing.lastIndex = from;
  const skipped = nothing.exec(text)?.[0] ?? '';
  const start = skipped.includes('\n') ? from + skipped.lastIndexOf('\n') + 1 : from;
  const end = text.indexOf('\n', start);
  return [text.slice(start, end < 0 ? undefined : end).slice(0, MAX_LINE), start];
}

const CORRECTION =
  /(?<![\p{L}\d])(?:(?:no,?[ \t]+)?wait|hold on|correction|scratch that|strike that|on second thoughts?|i made an? (?:mistake|error)|let me correct(?: that)?|i mean|make that|or rather|oops|sorry)(?![\p{L}\d])[ \t]*[,:;.!—–-]*|(?<=[.;,!—–-][ \t]{0,3})(?:no|actually)[,:](?=[ \t]*(?:[-$\d(]|it|the|that|this|they|we|she|he|there|true|false|yes|no))/giu;

/** What a model says once it has thought again. */
function* corrections(text: string, from: number): Generator<Statement> {
  const tail = text.slice(from);
  const last = [...tail.matchAll(CORRECTION)].at(-1);
  if (last === undefined || last.index === 0) return;
  const rest = tail.slice(last.index + last[0].length).trim();
  if (rest !== '') yield { text: rest, after: '', form: 'correction' };
}

function restOfSentence(text: string, from: number): string {
  const rest = text.slice(from, from + 200);
  const end = /\n\n|[.!?](?=\s|$)/.exec(rest)?.index;
  return rest.slice(0, end);
}

/** Sentences and lines, the last one first. */
export function* sentencesFromTheEnd(text: string): Generator<Statement> {
  let end = text.length;
  for (let index = text.length - 1; index >= 0; index--) {
    if (!endsSentence(text, index) && index > 0) continue;
    const start = index === 0 ? 0 : index + 1;
    const sentence = text.slice(start, end).trim();
    if (/[\p{L}\p{N}]/u.test(sentence)) yield { text: sentence, after: '', form: 'sentence' };
    end = start;
  }
}

const ABBREVIATION =
  /(?:^|[\s(])(?:\p{L}|mr|mrs|ms|dr|st|vs|no|nos|approx|fig|eq|e\.g|i\.e|etc|ca|bzw|a\.m|p\.m)$/iu;

function endsSentence(text: string, index: number): boolean {
  const sign = text[index];
  if (sign === '\n') return true;
  if (sign !== '.' && sign !== '!' && sign !== '?') return false;
  const next = text[index + 1];
  if (next === undefined || !/\s/.test(next)) return false;
  return (
    sign !== '.' || !ABBREVIATION.test(text.slice(Math.max(0, index - 8), index)) || next === '\n'
  );
}
