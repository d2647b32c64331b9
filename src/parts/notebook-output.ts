import type { ExecutionResult, PythonError } from '../sandbox/execution.js';
import { exceptionName } from './exception-name.js';
import { imageOf, sizeOfBase64 } from './image.js';
import { multiline } from './notebook-cell.js';
import type { MimeBundle, NotebookOutput } from './notebook-cell.js';
import type { CodeExecutionResult, InlineData } from './part.js';
import { executionOf, limitLine, PRINTED_NOTHING, START_NOT_KEPT } from './result-part.js';

/**
 * What a script printed, showed and raised. Where the result was made in this process the streams, the value and the
 * traceback are those of the kernel; of a recorded result only its one text is known.
 */
export function scriptOutputs(
  result: CodeExecutionResult,
  images: readonly InlineData[],
  count: number,
): NotebookOutput[] {
  const execution = executionOf(result);
  const [before, after] =
    execution === undefined ? textOutputs(result) : kernelOutputs(execution, count);
  return [...before, ...images.map(shown), ...after];
}

/** What comes before the images and what after them. */
type Sides = [before: NotebookOutput[], after: NotebookOutput[]];

function kernelOutputs(execution: ExecutionResult, count: number): Sides {
  const { stdout, stderr, outputTruncated } = execution;
  const before = [
    ...(outputTruncated ? stream('stderr', `${START_NOT_KEPT}\n`) : []),
    ...stream('stdout', stdout),
    ...stream('stderr', stderr),
  ];
  switch (execution.status) {
    case 'ok':
      return [before, execution.value === '' ? [] : [valueOutput(execution.value, count)]];
    case 'failed':
      return [before, [errorOutput(execution.error)]];
    case 'deadline-exceeded':
      return [before, [outOfTime(limitLine(execution.limitMs))]];
  }
}

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

function valueOutput(value: string, count: number): NotebookOutput {
  const data = { 'text/plain': multiline(value) };
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
  return { output_type: 'display_data', data: mimeBundle(data), metadata: {} };
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
