import { ConfigError } from './errors.js';
import { isLoopbackHost } from './safe-url.js';

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/**
 * Node's `fetch`, but however long the answer is silent, and through the proxy that HTTPS_PROXY and HTTP_PROXY name,
 * upper or lower case, except to the hosts of NO_PROXY. Requests to this machine never take a proxy.
 * @throws {ConfigError} `BAD_URL` where the proxy's address cannot be used; else as `fetch`.
 */
export async function patientFetch(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const dispatcher = isLoopbackHost(url.hostname) ? undefined : await proxyDispatcher();
  if (dispatcher === undefined) return fetchThrough(directDispatcher, input, init);
  try {
    return await fetchThrough(dispatcher, input, init);
  } catch (error) {
    const refusal = proxyRefusal(error);
    throw refusal === undefined ? error : new TypeError('fetch failed', { cause: refusal });
  }
}

/** The proxy would not pass us on; the request was not sent. */
export class ProxyRefusal extends Error {
  override name = 'ProxyRefusal';
}

/** undici tells the proxy's status in the text of an inner cause only. */
function proxyRefusal(error: unknown): ProxyRefusal | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const status = /^Proxy response \((\d+)\)/.exec(at.message)?.[1];
    if (status !== undefined) {
      return new ProxyRefusal(`the proxy refuses with status ${status}`, { cause: error });
    }
  }
  return undefined;
}

function fetchThrough(
  dispatcher: Dispatcher,
  input: string | URL | Request,
  init: RequestInit,
): Promise<Response> {
  return fetch(input, Object.assign({ ...init }, { dispatcher }));
}

const NO_TIME_LIMITS = { headersTimeout: 0, bodyTimeout: 0 };

/** Node's fetch gives up after 300 s without headers or data; a model may think and a script be silent for longer. */
const directDispatcher: Dispatcher = {
  dispatch(options, handler) {
    return globalDispatcher().dispatch({ ...options, ...NO_TIME_LIMITS }, handler);
  },
};

/** Where Node keeps the dispatcher of its fetch; it is there once fetch, Headers or the like have been touched. */
function globalDispatcher(): Dispatcher {
  const known = globalThis as unknown as Record<symbol, Dispatcher | undefined>;
  const dispatcher =
    known[Symbol.for('undici.globalDispatcher.1')] ??
    known[Symbol.for('undici.globalDispatcher.2')];
  if (dispatcher === undefined) throw new TypeError('fetch has no dispatcher');
  return dispatcher;
}

interface ProxySettings {
  /** For http targets; undici takes it for https ones, too, where they have none of their own. */
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
}

let latest: { key: string; dispatcher: Promise<Dispatcher> } | undefined;

/** Made anew only where the environment has changed, so that connections are kept. */
async function proxyDispatcher(): Promise<Dispatcher | undefined> {
  const settings = proxySettings(process.env);
  if (settings === undefined) return undefined;
  const key = JSON.stringify(settings);
  if (latest?.key !== key) latest = { key, dispatcher: openProxyDispatcher(settings) };
  return latest.dispatcher;
}

async function openProxyDispatcher(settings: ProxySettings): Promise<Dispatcher> {
  const { EnvHttpProxyAgent } = await import('undici');
  return new EnvHttpProxyAgent({ ...settings, ...NO_TIME_LIMITS });
}

function proxySettings(env: NodeJS.ProcessEnv): ProxySettings | undefined {
  const httpProxy = proxyUrl('HTTP_PROXY', env);
  const httpsProxy = proxyUrl('HTTPS_PROXY', env);
  if (httpProxy === '' && httpsProxy === '') return undefined;
  return { httpProxy, httpsProxy, noProxy: setting('NO_PROXY', env) };
}

/** Lower case goes first, as with curl; an empty value counts as none. */
function setting(name: string, env: NodeJS.ProcessEnv): string {
  return env[name.toLowerCase()]?.trim() || env[name]?.trim() || '';
}

/** An address without a scheme is http, as with curl. The error leaves out the value: it may hold a password. */
function proxyUrl(name: string, env: NodeJS.ProcessEnv): string {
  const value = setting(name, env);
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new ConfigError(
    'BAD_URL',
    `${name} is not the address of an HTTP proxy. Write it as http://host:port, or unset it.`,
  );
}
