interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Node's fetch gives up after 300 s without headers or data; a model may think and a script be silent for longer. */
const patientDispatcher: Dispatcher = {
  dispatch(options, handler) {
    return globalDispatcher().dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
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

/** The same request without Node's limits on how long an answer may be silent. */
export function withoutTimeLimits(init: RequestInit): RequestInit {
  return Object.assign({ ...init }, { dispatcher: patientDispatcher });
}
