import { pino } from 'pino';

/** Short text for people, with optional fields; secrets are taken out of both. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Record<string, unknown>;

/** From quiet to talkative. */
export const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Where lines go; a terminal gets one readable line each, anything else one JSON object a line. */
export interface LogStream {
  write(line: string): unknown;
  readonly isTTY?: boolean;
}

export interface LoggerOptions {
  level: LogLevel;
  /** Default: known forms of secrets only. */
  scrubber?: Scrubber;
  /** Default standard error. */
  stream?: LogStream;
}

/** Takes secrets out of text: the known forms, and values learnt while running. */
export interface Scrubber {
  /** From now on this very text is taken out, in JSON and URL encoding too; values under 6 characters are not. */
  add(secret: string | undefined): void;
  scrub(text: string): string;
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export function createLogger(options: LoggerOptions): Logger {
  const scrubber = options.scrubber ?? createScrubber();
  const stream = options.stream ?? standardError();
  const log = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (value: unknown) => value },
      formatters: { level: (level) => ({ level }) },
      hooks: { streamWrite: (line) => scrubber.scrub(line) },
    },
    stream.isTTY === true ? { write: (line) => stream.write(readableLine(line)) } : stream,
  );
  const writer =
    (level: Exclude<LogLevel, 'silent'>) =>
    (message: string, fields?: LogFields): void => {
      log[level](loggable(fields), message);
    };
  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  };
}

/** Written before the call returns, so that no line is lost when the process ends. */
function standardError(): LogStream {
  const destination = pino.destination({ dest: 2, sync: true });
  return { write: (line) => destination.write(line), isTTY: process.stderr.isTTY };
}

export function createScrubber(secrets: Iterable<string | undefined> = []): Scrubber {
  const known = new Set<string>();
  const scrubber: Scrubber = {
    add(secret) {
      if (secret === undefined || secret.length < SHORTEST_SECRET) return;
      const escaped = jsonEscaped(secret);
      for (const form of [secret, escaped, jsonEscaped(escaped), encodeURIComponent(secret)])
        known.add(form);
    },
    scrub(text) {
      let clean = text;
      for (const secret of [...known].sort((a, b) => b.length - a.length))
        clean = clean.replaceAll(secret, HIDDEN);
      return scrub(clean);
    },
  };
  for (const secret of secrets) scrubber.add(secret);
  return scrubber;
}

/** Takes out of any text what looks like a key, a token or a header that carries one. */
export function scrub(text: string): string {
  return SECRET_FORMS.reduce(
    (clean, [form, replacement]) => clean.replace(form, replacement),
    text,
  );
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const HIDDEN = '[secret]';
/** A shorter value would blank out ordinary words. */
const SHORTEST_SECRET = 6;

/** What stands between a header's or field's name and its value, in plain text and in (nested) JSON. */
const SEPARATOR = String.raw`\\*["']?\s*[:=]\s*\\*["']?`;

const SECRET_FORMS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\w+/=\s\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g, HIDDEN],
  // Google: API keys of both forms, access and refresh tokens, client secrets; then any JSON web token.
  [/\bAIza[\w-]{20,}/g, HIDDEN],
  [/\bAQ\.[\w-]{20,}/g, HIDDEN],
  [/\bya29\.[\w.-]+/g, HIDDEN],
  [/\b1\/\/0[\w-]{20,}/g, HIDDEN],
  [/\bGOCSPX-[\w-]+/g, HIDDEN],
  [/\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g, HIDDEN],
  [
    new RegExp(
      String.raw`\b(x-goog-api-key|x-colab-runtime-proxy-token|(?:proxy-)?authorization)(${SEPARATOR})(?:(?:bearer|basic|token)\s+)?[^\s"'\\,}[\]]+`,
      'gi',
    ),
    `$1$2${HIDDEN}`,
  ],
  [
    new RegExp(String.raw`\b((?:set-)?cookie)(${SEPARATOR})[^\s"'\\[][^"'\\\r\n]*`, 'gi'),
    `$1$2${HIDDEN}`,
  ],
  [/\b(Bearer\s+)(?!tokens?\b|auth)[\w.~+/-]+=*/g, `$1${HIDDEN}`],
  [/\b(bearer\s+)(?=[\w.~+/-]*\d)[\w.~+/-]{8,}=*/gi, `$1${HIDDEN}`],
  [
    /(\\*["'](?:token|access_?token|refresh_?token|id_?token|proxy_?token|api_?key|client_?secret|password)\\*["']\s*:\s*\\*["'])[^"'\\]+/gi,
    `$1${HIDDEN}`,
  ],
  [
    /([?&](?:key|api_?key|token|access_token|colab-runtime-proxy-token)=)[^&\s"'#\\<>]+/gi,
    `$1${HIDDEN}`,
  ],
  [/(\/\/[^\s/:@"']*:)[^\s/@"']+(?=@)/g, `$1${HIDDEN}`],
];

function loggable(fields: LogFields = {}): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? errorFields(value) : value,
    ]),
  );
}

/** Named fields only: errors of HTTP clients carry whole requests, headers included. */
function errorFields(error: Error, depth = 0): LogFields {
  const code = (error as { code?: unknown }).code;
  const cause =
    error.cause instanceof Error && depth < 5 ? errorFields(error.cause, depth + 1) : error.cause;
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    message: error.message,
    stack: error.stack,
    ...(cause === undefined ? {} : { cause }),
  };
}

/** `12:04:31 warn  the message  name=value`; control characters, which scripts may have printed, become blanks. */
function readableLine(line: string): string {
  const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`);
  const head = `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${String(message)}`;
  return `${[head, ...rest].join('  ').replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:+-]+$/.test(value)) return value;
  return JSON.stringify(value, (name, nested: unknown) => (name === 'stack' ? undefined : nested));
}
