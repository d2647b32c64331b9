import { linkSignal } from '../../abort.js';
import { checkBaseUrl, GEMINI_BASE_URL } from '../../agent/gemini-base-url.js';
import { ConfigError } from '../../errors.js';
import { patientFetch } from '../../patient-fetch.js';
import { PROBE_TIMEOUT_MS } from './check.js';
import type { Check, CheckOptions } from './check.js';

const KEY_NAMES = ['GOOGLE_API_KEY', 'GEMINI_API_KEY'] as const;
const NAME = 'Gemini';
const GET_KEY = 'Get a key at https://aistudio.google.com/apikey and set GEMINI_API_KEY.';

/** Whether there is a key (never which), whether the endpoint answers as Gemini does, and whether it takes the key. */
export async function checkGemini({ env, signal }: CheckOptions): Promise<Check[]> {
  const keyName = KEY_NAMES.find((name) => env[name]?.trim());
  const key = keyName === undefined ? undefined : env[keyName]?.trim();
  return [keyCheck(keyName), await endpointCheck(env['GOOGLE_GEMINI_BASE_URL'], key, signal)];
}

function keyCheck(keyName: string | undefined): Check {
  const check = { name: `${NAME} key`, isRequired: false };
  if (keyName !== undefined) return { ...check, state: 'ok', found: `${keyName} is set` };
  const found = 'none; only recorded runs can be played';
  return { ...check, state: 'skipped', found, remedy: GET_KEY };
}

async function endpointCheck(
  configuredUrl: string | undefined,
  key: string | undefined,
  signal: AbortSignal,
): Promise<Check> {
  const check = { name: `${NAME} endpoint`, isRequired: false };
  let baseUrl: string;
  try {
    baseUrl = checkBaseUrl(configuredUrl || GEMINI_BASE_URL);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { ...check, state: 'failed', found: error.message };
  }
  using link = linkSignal(signal, PROBE_TIMEOUT_MS);
  try {
    // Listing models costs no tokens; a redirect is not followed, since the key would go along.
    const response = await patientFetch(`${baseUrl}/v1beta/models?pageSize=1`, {
      headers: key === undefined ? {} : { 'x-goog-api-key': key },
      redirect: 'manual',
      signal: link.signal,
    });
    const body = await response.text();
    return { ...check, ...judged(baseUrl, response, body, key !== undefined) };
  } catch (error) {
    signal.throwIfAborted();
    return {
      ...check,
      state: 'failed',
      found: `${baseUrl} cannot be reached (${reasonOf(error)})`,
      remedy: 'Check the network, a proxy or firewall, and GOOGLE_GEMINI_BASE_URL.',
    };
  }
}

function judged(
  baseUrl: string,
  response: Response,
  body: string,
  hasKey: boolean,
): Pick<Check, 'state' | 'found' | 'remedy'> {
  if (!isJson(body)) {
    return {
      state: 'failed',
      found: `${baseUrl} answers with status ${response.status} and no JSON, so it is not Gemini`,
      remedy: 'Check GOOGLE_GEMINI_BASE_URL; leave it unset for Google’s own endpoint.',
    };
  }
  if (response.ok)
    return { state: 'ok', found: `${baseUrl} answers${hasKey ? ' and takes the key' : ''}` };
  if (!hasKey) return { state: 'ok', found: `${baseUrl} answers (no key to try)` };
  const isKeyRefused = [400, 401, 403].includes(response.status);
  return {
    state: 'failed',
    found: `${baseUrl} answers with status ${response.status}${isKeyRefused ? ': the key is refused' : ''}`,
    remedy: isKeyRefused ? GET_KEY : 'Try again later.',
  };
}

function isJson(body: string): boolean {
  try {
    return typeof JSON.parse(body) === 'object';
  } catch {
    return false;
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
