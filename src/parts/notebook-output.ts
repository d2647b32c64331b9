import type { ExecutionResult, PythonError, RichOutput } from '../sandbox/execution.js';
import { exceptionName } from './exception-name.js';
import { imageOf, sizeOfBase64 } from './image.js';
import { multiline } from './notebook-cell.js';
import type { MimeBundle, NotebookOutput } from './notebook-cell.js';
import type { CodeExecutionResult, InlineData } from './part.js';
import { executionOf, limitLine, PRINTED_NOTHING, START_NOT_KEPT } from './result-part.js';

/**
 * What a script printed, showed and raised. Where the result was made in this process the streams, the displays, the value
 * and the traceback are those of the kernel; of a recorded result only its one text and its images are known.
 */
export function scriptOutputs(
  result: CodeExecutionResult,
  images: readonly InlineData[],
  count: number,
): NotebookOutput[] {
  const execution = executionOf(result);
  if (execution !== undefined) return kernelOutputs(execution, images, count);
  const [before, after] = textOutputs(result);
  return [...before, ...images.map(shown), ...after];
}

function kernelOutputs(
  execution: ExecutionResult,
  images: readonly InlineData[],
  count: number,
): NotebookOutput[] {
  const { stdout, stderr, outputTruncated, richOutputs } = execution;
  return [
    ...(outputTruncated ? stream('stderr', `${START_NOT_KEPT}\n`) : []),
    ...stream('stdout', stdout),
    ...stream('stderr', stderr),
    ...displays(richOutputs, images),
    ...ending(execution, count),
  ];
}

function ending(execution: ExecutionResult, count: number): NotebookOutput[] {
  switch (execution.status) {
    case 'ok': {
      const rich = execution.richOutputs.find(({ isValue }) => isValue === true);
      return execution.value === '' ? [] : [valueOutput(execution.value, rich?.data, count)];
    }
    case 'failed':
      return [errorOutput(execution.error)];
    case 'deadline-exceeded':
      return [outOfTime(limitLine(execution.limitMs))];
  }
}

/** The content of a display that is large is not kept; where it is an image it stands in the contents. */
function displays(outputs: readonly RichOutput[], images: readonly InlineData[]): NotebookOutput[] {
  const pictures = outputs.filter(({ mimeTypes }) => mimeTypes.some((type) => IMAGE.test(type)));
  return outputs.flatMap((output) => {
    const { data, error, isValue, mimeTypes } = output;
    const image = images[pictures.indexOf(output)];
    if (isValue === true) return [];
    if (data !== undefined) return [display(bundleOf(data))];
    if (image !== undefined) return [shown(image)];
    return stream('stderr', `[${error ?? `Displayed ${mimeTypes.join(', ')}, kept as a file.`}]\n`);
  });
}

const IMAGE = /^image\/(?:png|jpeg|webp|svg\+xml)$/;

function display(data: MimeBundle): NotebookOutput {
  return { output_type: 'display_data', data, metadata: {} };
}

/** As nbformat has it: JSON as it is, images in base64, all else as lines. */
function bundleOf(data: Readonly<Record<string, unknown>>): MimeBundle {
  const entries = Object.entries(data).map(([type, value]): [string, MimeBundle[string]] => {
    if (/^application\/(?:.*\+)?json$/.test(type)) return [type, value];
    const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    return [type, /^image\/(?!svg)/.test(type) ? text : multiline(text)];
  });
  return Object.fromEntries(entries);
}

/** What comes before the images and what after them. */
type Sides = [before: NotebookOutput[], after: NotebookOutput[]];

function textOutputs({ outcome, output }: CodeExecutionResult): Sides {
  if (outcome === 'OUTCOME_FAILED') return [[], [errorOfText(output)]];
  if (outcome !== 'OUTCOME_DEADLINE_EXCEEDED') {
    return [stream('stdout', output === PRINTED_NOTHING ? '' : output), []];
  }
  const lineStart = output.trimEnd().lastIndexOf('\n') + 1;
  return [stream('stdout', output.slice(0, lineStart)), [outOfTime(output.slice(lineStart))]];
}

function stream(name: 'stdout' | 'stderr', text: string): NotebookOutput[] {
  return text === '' ? [] : [{ output_type: 'stream', name, text: multiline(text) }];
}

function valueOutput(
  value: string,
  rich: Readonly<Record<string, unknown>> = {},
  count: number,
): NotebookOutput {
  const data = { ...bundleOf(rich), 'text/plain': multiline(value) };
  return { output_type: 'execute_result', execution_count: count, data, metadata: {} };
}

function errorOutput({ name, value, traceback }: PythonError): NotebookOutput {
  const lines = traceback.length > 0 ? traceback : [`${name || 'Error'}: ${value}`];
  return {
    output_type: 'error',
    ename: name || 'Error',
    evalue: value,
    traceback: lines,
  };
}

function errorOfText(output: string): NotebookOutput {
  const name = exceptionName(output) ?? 'Error';
  const lines = output.trimEnd().split('\n');
  const last = lines.at(-1) ?? '';
  const value = last.slice(last.startsWith(`${name}: `) ? name.length + 2 : 0);
  return errorOutput({ name, value, traceback: lines });
}

/** Jupyter has no word for it; a cell that was interrupted ends with this exception. */
function outOfTime(line: string): NotebookOutput {
  return errorOutput({ name: 'KeyboardInterrupt', value: line, traceback: [line] });
}

function shown(data: InlineData): NotebookOutput {
  return display(mimeBundle(data));
}

function mimeBundle(data: InlineData): MimeBundle {
  const { mimeType, displayName = mimeType } = data;
  const image = imageOf(data);
  if (image?.svg !== undefined) return { [image.mimeType]: multiline(image.svg) };
  if (image !== undefined) return { [image.mimeType]: image.base64 };
  if (SHOWN_TEXT.includes(mimeType)) {
    return { [mimeType]: multiline(Buffer.from(data.data, 'base64').toString('utf8')) };
  }
  return { 'text/plain': [`${displayName} (${mimeType}, ${sizeOfBase64(data.data)} bytes)`] };
}

/** Beside images, what notebooks show by its MIME type; of HTML they let no script run in a notebook that is not trusted. */
const SHOWN_TEXT = ['text/plain', 'text/html', 'text/markdown', 'text/latex'];
