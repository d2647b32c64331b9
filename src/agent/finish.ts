import { isEmpty } from '../parts/content.js';
import type { ModelResponse } from './model.js';

/** What a response is good for. */
export type Verdict =
  | 'usable'
  /** The API refuses the prompt or the answer; asking again changes nothing. */
  | 'blocked'
  | 'empty'
  /** A function call the API could not read. */
  | 'bad-call'
  /** Cut off at the token limit; a call in it may be incomplete. */
  | 'truncated'
  /** A call in the history lacks its thought signature. */
  | 'unsigned'
  /** Something is wrong with the account. */
  | 'account'
  | 'unclear';

const VERDICTS: Record<string, Verdict> = {
  SAFETY: 'blocked',
  RECITATION: 'blocked',
  LANGUAGE: 'blocked',
  BLOCKLIST: 'blocked',
  PROHIBITED_CONTENT: 'blocked',
  SPII: 'blocked',
  MODEL_ARMOR: 'blocked',
  ESCALATION: 'blocked',
  NO_IMAGE: 'blocked',
  MALFORMED_FUNCTION_CALL: 'bad-call',
  UNEXPECTED_TOOL_CALL: 'bad-call',
  MALFORMED_RESPONSE: 'bad-call',
  MAX_TOKENS: 'truncated',
  MISSING_THOUGHT_SIGNATURE: 'unsigned',
  PUP_LIMITED_DISABLED: 'account',
};

/** Finish reasons are an open set (Gemini API, FinishReason); an unknown one is `unclear`, never usable. */
export function judge(response: ModelResponse): Verdict {
  if (response.blockReason !== undefined) return 'blocked';
  if (response.finishReason === 'STOP') return isEmpty(response.content.parts) ? 'empty' : 'usable';
  if (response.finishReason === '') return 'empty';
  if (response.finishReason.startsWith('IMAGE_')) return 'blocked';
  return VERDICTS[response.finishReason] ?? 'unclear';
}

/** Why the response is no good, for people. */
export function describeFinish(response: ModelResponse): string {
  const reason = response.blockReason ?? response.finishReason;
  if (response.blockReason !== undefined) return `The prompt was blocked (${reason}).`;
  if (reason === 'STOP' || reason === '') return 'The response was empty.';
  const detail = response.finishMessage === undefined ? '' : `: ${response.finishMessage}`;
  return `The response ended with ${reason}${detail}.`;
}
