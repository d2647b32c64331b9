import { DeadlineReached, linkSignal } from '../../abort.js';
import type { BufferedExecution } from './buffered-execution.js';
import type { ExecutionFollower } from './execution-follower.js';
import { randomResourceId, splitSessionName } from './resource-names.js';
import type { RuntimeRegistry } from './runtime-registry.js';
import type { SessionExecutions } from './session-executions.js';
import { StatusError } from './status.js';
import { CallEnd, type ToolCall } from './tool.js';
import type { ExecuteCodeResult, ToolInput } from './tool-schemas.js';

export interface ExecuteCodeOptions {
  runtimes: RuntimeRegistry;
  /** A call that has no answer by then ends with DEADLINE_EXCEEDED; the code goes on. */
  streamingDeadlineMs: number;
  /** How long a cancelled call waits for its code to stop. */
  cancelGraceMs: number;
  /** The longest text of the value, the message and each traceback entry, in UTF-16 units. */
  textLength: number;
}

/** Attaches the call to the execution it asks for, queueing it if it is new, and follows that to its end. */
export async function executeCode(
  input: ToolInput<'execute_code'>,
  call: ToolCall,
  options: ExecuteCodeOptions,
): Promise<ExecuteCodeResult> {
  const sessionName = input.session ?? `${input.runtime ?? ''}/sessions/${randomResourceId()}`;
  const { runtime, sessionId } = splitSessionName(sessionName);
  const session = options.runtimes.get(runtime).session(sessionId);
  using attachment = session.attach(input.code, input.executionId ?? '');
  const { execution } = attachment;
  using deadline = linkSignal(call.signal, options.streamingDeadlineMs);
  try {
    await follow(attachment.follower, call, deadline.signal);
  } catch (error) {
    if (error instanceof DeadlineReached) throw deadlineExceeded(execution, sessionName, error);
    if (!(error instanceof CallEnd) || error.why !== 'cancelled') throw error;
    session.cancel(execution);
    const hasEnded = await execution.endsWithin(options.cancelGraceMs);
    whenDelivered(call, session, execution);
    throw cancelled(execution, hasEnded, options.cancelGraceMs);
  }
  whenDelivered(call, session, execution);
  return resultOf(execution, sessionName, options.textLength);
}

async function follow(
  follower: ExecutionFollower,
  { sendOutput }: ToolCall,
  signal: AbortSignal,
): Promise<void> {
  if (sendOutput === undefined) await follower.end(signal);
  else for await (const chunk of follower.output(signal)) await sendOutput(chunk, signal);
}

function whenDelivered(
  call: ToolCall,
  session: SessionExecutions,
  execution: BufferedExecution,
): void {
  call.whenDelivered(() => {
    session.delivered(execution);
  });
}

function resultOf(
  execution: BufferedExecution,
  session: string,
  textLength: number,
): ExecuteCodeResult {
  const { reply, output, id } = execution;
  const clip = (text: string): string => text.slice(0, textLength);
  const texts =
    reply.status === 'ok' ? [reply.value] : [reply.name, reply.message, ...reply.traceback];
  return {
    executionId: id,
    session,
    executionCount: reply.executionCount,
    stdout: output.text('stdout'),
    stderr: output.text('stderr'),
    result: reply.status === 'ok' ? clip(reply.value) : '',
    ...(reply.status === 'error' && {
      executionError: {
        name: clip(reply.name),
        value: clip(reply.message),
        traceback: reply.traceback.map(clip),
      },
    }),
    outputTruncated: output.isTruncated || texts.some((text) => text.length > textLength),
  };
}

function deadlineExceeded(
  { id, hasStarted }: BufferedExecution,
  session: string,
  { limitMs }: DeadlineReached,
): StatusError {
  const state = hasStarted ? 'The code is still running' : 'The code is still queued';
  const remedy =
    id === ''
      ? 'Without an executionId its result cannot be had.'
      : `Repeat the call with session ${session} and executionId ${id} to attach again.`;
  return new StatusError(
    'DEADLINE_EXCEEDED',
    `${state} after ${limitMs / 1000} s, the longest that one call may take. ${remedy}`,
  );
}

function cancelled(
  { hasStarted }: BufferedExecution,
  hasEnded: boolean,
  graceMs: number,
): StatusError {
  if (!hasStarted)
    return new StatusError('CANCELLED', 'The call was cancelled before its code ran.');
  return hasEnded
    ? new StatusError('CANCELLED', 'The call was cancelled and its code interrupted.')
    : new StatusError(
        'CANCELLED',
        `The call was cancelled, but its code has ignored the interrupt for ${graceMs / 1000} s and still runs. Delete the session to end it.`,
        { reason: 'STILL_RUNNING' },
      );
}
