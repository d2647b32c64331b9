import type { SandboxErrorCode } from '../errors.js';
import { SandboxError } from '../errors.js';
import type { Failure } from './failure.js';
import { permissionRemedy, signedOutRemedy } from './sign-in-remedy.js';

/** What the failed call was for; goes into the message. */
export interface CallContext {
  /** The tool, such as `create_runtime`. */
  tool: string;
  /** What it was applied to: a resource name or the server's URL. */
  on: string;
  /** The server's URL. */
  url: string;
}

interface Verdict {
  code: SandboxErrorCode;
  isRetryable: boolean;
  remedy: string;
}

/** The one translation of a failed call: what failed, on what, what to do; the raw failure is the cause. */
export function toSandboxError(failure: Failure, context: CallContext): SandboxError {
  const { code, isRetryable, remedy } = judge(failure, context);
  const what = oneLine(failure.text);
  return new SandboxError(code, `${context.tool} failed on ${context.on}: ${what} ${remedy}`, {
    cause: failure.raw,
    isRetryable,
    retryAfterMs: failure.retryAfterMs,
  });
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const short = line.length > 500 ? `${line.slice(0, 500)}…` : line;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}

function judge(failure: Failure, context: CallContext): Verdict {
  switch (failure.status) {
    case 'UNAUTHENTICATED':
      return operator('UNAUTHENTICATED', signedOutRemedy(context.url));
    case 'PERMISSION_DENIED':
      return operator('PERMISSION_DENIED', permissionRemedy(failure));
    case 'RESOURCE_EXHAUSTED':
      return time('RATE_LIMITED', 'The call did not run; wait a minute and try again.');
    case 'FAILED_PRECONDITION':
      return judgePrecondition(failure, context);
    case 'NOT_FOUND':
      return operator(
        'NOT_FOUND',
        'It is gone or not yours; see what is there with `colab-solver sandbox list`.',
      );
    case 'ALREADY_EXISTS':
      return operator('ALREADY_EXISTS', 'Use the existing one, or choose another id.');
    case 'INVALID_ARGUMENT':
    case 'OUT_OF_RANGE':
      return operator('INVALID_ARGUMENT', 'The server will refuse the same call again; change it.');
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
    case 'ABORTED':
      return time('UNAVAILABLE', 'The server is slow or unreachable; try again later.');
    case 'STREAM_CUT':
    case 'NETWORK':
      return time(
        'NETWORK',
        `Check the network and that ${context.url} can be reached; try again.`,
      );
    case 'NOT_COLAB':
      return operator(
        'NOT_COLAB',
        `${context.url} is not a Colab MCP server; check the URL (Google's is https://colaboratory.googleapis.com/mcp).`,
      );
    case 'CANCELLED':
    case 'UNIMPLEMENTED':
    case 'INTERNAL':
    case 'DATA_LOSS':
    case 'UNKNOWN':
      return operator('UNKNOWN', 'The server gave no reason we know; see the cause.');
  }
}

function operator(code: SandboxErrorCode, remedy: string): Verdict {
  return { code, isRetryable: false, remedy };
}

function time(code: SandboxErrorCode, remedy: string): Verdict {
  return { code, isRetryable: true, remedy };
}

/** Reasons as in Google's own client; any other one of create_runtime means that the machine cannot be had now. */
function judgePrecondition(failure: Failure, context: CallContext): Verdict {
  const says = `${failure.reason ?? ''} ${failure.text}`;
  if (/TOO_MANY_ACTIVE_RUNTIMES|too many active/i.test(says)) {
    return operator(
      'TOO_MANY_RUNTIMES',
      'Use one of your runtimes with --runtime (`colab-solver sandbox list` names them), or delete one.',
    );
  }
  if (failure.reason === 'VERSION_UNAVAILABLE') {
    return operator('INVALID_ARGUMENT', 'Choose another --runtime-version, or none.');
  }
  if (/QUOTA_EXCEEDED_USAGE_TIME|usage (time|quota)/i.test(says)) {
    return operator(
      'QUOTA_EXHAUSTED',
      'Your Colab usage is used up for now; try later, without an accelerator, or with --sandbox local.',
    );
  }
  if (/DENYLISTED/.test(says)) {
    return operator('ACCOUNT_BLOCKED', 'Colab has blocked this account; ask Colab support.');
  }
  if (context.tool === 'create_runtime') {
    return {
      code: 'NO_CAPACITY',
      isRetryable: true,
      remedy: 'Choose another accelerator (`colab-solver sandbox specs`), or try later.',
    };
  }
  return operator('UNKNOWN', 'The server refuses the call in its present state; see the cause.');
}

/** The kernel, and with it the variables, is gone. */
export function sessionLost(session: string, why: string, cause?: unknown): SandboxError {
  return new SandboxError(
    'SESSION_LOST',
    `The session ${session} is lost: ${why} Open a fresh session and rebuild its variables.`,
    cause === undefined ? {} : { cause },
  );
}

export function runtimeLost(runtime: string, cause: unknown): SandboxError {
  return new SandboxError(
    'RUNTIME_LOST',
    `The runtime ${runtime} is gone, with its sessions and files. Open a fresh session; a new runtime is made where needed.`,
    { cause },
  );
}

/** Never repeated by us: the script may have run, or may still be running. */
export function executionUnknown(
  session: string,
  why: string,
  cause?: unknown,
  retryAfterMs?: number,
): SandboxError {
  return new SandboxError(
    'EXECUTION_UNKNOWN',
    `Nobody can know whether the script in ${session} ran: ${why} Look at its files or variables before you run it again.`,
    { ...(cause !== undefined && { cause }), retryAfterMs },
  );
}

export function closedError(what: string): SandboxError {
  return new SandboxError('CLOSED', `${what} is closed. Open a new one.`);
}
