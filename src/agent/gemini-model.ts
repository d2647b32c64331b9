import { ApiError, FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel } from '@google/genai';
import type {
  GenerateContentParameters,
  GenerateContentResponse,
  ThinkingConfig,
} from '@google/genai';
import { ColabSolverError, ConfigError } from '../errors.js';
import type { Content } from '../parts/content.js';
import { appendParts, partsFromGenai, verbatim } from '../parts/genai.js';
import type { Part } from '../parts/part.js';
import { laterCounts, requestUsage } from '../parts/usage.js';
import type { TokenCounts, Usage } from '../parts/usage.js';
import { patientFetch } from '../patient-fetch.js';
import { DEFAULT_RETRY_POLICY, delayAfter, pause, saysRetryable } from '../retry.js';
import type { RetryPolicy } from '../retry.js';
import { checkBaseUrl, GEMINI_BASE_URL } from './gemini-base-url.js';
import { refusalError, streamCutError, unsentError } from './gemini-errors.js';
import type { GeminiPeer } from './gemini-errors.js';
import { GeminiExchange } from './gemini-exchange.js';
import type { ImageWay, Model, ModelEvent, ModelRequest, ModelResponse } from './model.js';

/** How much a model thinks; which of the two it takes depends on its generation. */
export interface Thinking {
  /** Gemini 3 and later. */
  level?: 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH';
  /** Gemini 2.5: 0 switches thinking off, -1 leaves it to the model. */
  budgetTokens?: number;
  /** Stream summaries of the thoughts; models that cannot think refuse this. */
  includeThoughts?: boolean;
}

export interface GeminiModelOptions {
  /** Such as `gemini-flash-latest`. */
  model: string;
  /** Goes to `baseUrl` as a header, and nowhere else. */
  apiKey: string;
  /** Default Google's; http for loopback only. */
  baseUrl?: string;
  /** How it is given images; default what its name says of its generation. */
  images?: ImageWay;
  /** Default: as the model does by itself. */
  thinking?: Thinking;
  /** Default {@link DEFAULT_RETRY_POLICY}. */
  retry?: Partial<RetryPolicy>;
  /** A request without a single byte for this long is sent again. Default 600 000: thinking can be silent for minutes. */
  idleTimeoutMs?: number;
  /** Default Node's own, through the proxy of the environment and without a limit on silence. */
  fetch?: typeof fetch;
}

/**
 * A model of the Gemini API (v1beta, API key), whatever Vertex settings the environment holds.
 * @throws {ConfigError} `MISSING_KEY`, `BAD_URL`, `BAD_OPTION`, before anything is sent.
 */
export function createGeminiModel(options: GeminiModelOptions): Model {
  const peer: GeminiPeer = {
    model: checkModelName(options.model),
    baseUrl: checkBaseUrl(options.baseUrl ?? GEMINI_BASE_URL),
    apiKey: checkKey(options.apiKey),
  };
  const policy = { ...DEFAULT_RETRY_POLICY, ...options.retry };
  const client = new GoogleGenAI({
    apiKey: peer.apiKey,
    vertexai: false,
    httpOptions: { apiVersion: 'v1beta', baseUrl: peer.baseUrl },
  });

  async function* generate(
    request: ModelRequest,
  ): AsyncGenerator<ModelEvent, ModelResponse, undefined> {
    const { signal, onSpent } = request;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const response = new StreamedResponse();
      try {
        yield* receive(request, response);
        return response.finish();
      } catch (error) {
        onSpent?.(response.usage);
        signal?.throwIfAborted();
        const delayMs = saysRetryable(error) ? delayAfter(error, attempt, policy) : undefined;
        if (delayMs === undefined) throw error;
        yield {
          type: 'retry',
          reason: messageOf(error),
          attempt: attempt + 1,
          delayMs,
          ...(error instanceof ColabSolverError && { code: String(error.code) }),
        };
        await pause(delayMs, policy, signal);
      }
    }
  }

  /** Sends the request once. */
  async function* receive(
    request: ModelRequest,
    response: StreamedResponse,
  ): AsyncGenerator<ModelEvent, void, undefined> {
    using exchange = new GeminiExchange({
      peer,
      signal: request.signal,
      idleTimeoutMs: options.idleTimeoutMs ?? 600_000,
      fetch: options.fetch ?? patientFetch,
    });
    for await (const chunk of chunks(parameters(request, exchange), exchange)) {
      for (const { text, thought = false } of response.add(chunk)) {
        if (text !== undefined && text !== '') yield { type: 'text', text, thought };
      }
    }
    response.finishMessage = exchange.finishMessage;
    if (!response.isComplete) throw streamCutError('it ended without a finish reason', peer);
  }

  /** What the SDK yields; what it throws becomes an error of ours. */
  async function* chunks(
    params: GenerateContentParameters,
    exchange: GeminiExchange,
  ): AsyncGenerator<GenerateContentResponse> {
    try {
      yield* await client.models.generateContentStream(params);
    } catch (error) {
      if (error instanceof ColabSolverError) throw error;
      if (error instanceof ApiError) {
        const { status: httpStatus, message: text } = error;
        const { retryAfterMs } = exchange;
        throw refusalError({ httpStatus, text, retryAfterMs, cause: error }, peer);
      }
      if (!exchange.isAnswered) throw unsentError(error, peer);
      throw streamCutError('it cannot be read', peer, error);
    }
  }

  function parameters(request: ModelRequest, exchange: GeminiExchange): GenerateContentParameters {
    const { systemInstruction, functions, functionCalling } = request;
    const { contents, extraBody } = verbatim(request.contents);
    return {
      model: peer.model,
      contents,
      config: {
        ...(systemInstruction !== '' && { systemInstruction }),
        ...(functions.length > 0 && {
          tools: [{ functionDeclarations: [...functions] }],
          toolConfig: { functionCallingConfig: { mode: CALLING_MODES[functionCalling] } },
        }),
        ...(options.thinking && { thinkingConfig: thinkingConfig(options.thinking) }),
        // Each of these would send requests of the SDK's own that nobody counts.
        automaticContinuation: false,
        automaticFunctionCalling: { disable: true },
        httpOptions: { fetch: exchange.fetch, extraBody },
      },
    };
  }

  return { id: peer.model, images: options.images ?? imageWayOf(peer.model), generate };
}

/** Names without a generation, such as `gemini-flash-latest`, stand for the newest; other families take no images. */
function imageWayOf(model: string): ImageWay {
  if (/(?:^|\/)gemini-[a-z-]*latest$/.test(model)) return 'in-response';
  const generation = /(?:^|\/)gemini-(\d+)/.exec(model)?.[1];
  if (generation === undefined) return 'none';
  return Number(generation) >= 3 ? 'in-response' : 'beside';
}

const CALLING_MODES = {
  auto: FunctionCallingConfigMode.AUTO,
  none: FunctionCallingConfigMode.NONE,
} as const;

/** One response as it arrives. */
class StreamedResponse {
  finishMessage: string | undefined;
  #content: Content = { role: 'model', parts: [] };
  #finishReason = '';
  #blockReason: string | undefined;
  #counts: TokenCounts = {};

  /** Takes a chunk in and returns the parts that came with it. */
  add(chunk: GenerateContentResponse): Part[] {
    const candidate = chunk.candidates?.[0];
    const parts = partsFromGenai(candidate?.content?.parts);
    this.#content = appendParts(this.#content, parts);
    this.#finishReason = candidate?.finishReason ?? this.#finishReason;
    this.#blockReason = chunk.promptFeedback?.blockReason ?? this.#blockReason;
    this.#counts = laterCounts(this.#counts, chunk.usageMetadata);
    return parts;
  }

  /** A stream can end cleanly half-way; only a reason to finish says that this was all. */
  get isComplete(): boolean {
    return this.#finishReason !== '' || this.#blockReason !== undefined;
  }

  get usage(): Usage {
    return requestUsage(this.#counts);
  }

  finish(): ModelResponse {
    return {
      content: this.#content,
      finishReason: this.#finishReason,
      ...(this.finishMessage !== undefined && { finishMessage: this.finishMessage }),
      ...(this.#blockReason !== undefined && { blockReason: this.#blockReason }),
      usage: this.usage,
    };
  }
}

function thinkingConfig({ level, budgetTokens, includeThoughts }: Thinking): ThinkingConfig {
  return {
    ...(level !== undefined && { thinkingLevel: ThinkingLevel[level] }),
    ...(budgetTokens !== undefined && { thinkingBudget: budgetTokens }),
    ...(includeThoughts !== undefined && { includeThoughts }),
  };
}

function checkModelName(model: string): string {
  if (/^(?:(?:models|tunedModels)\/)?[\w.:-]+$/.test(model) && !model.includes('..')) return model;
  throw new ConfigError(
    'BAD_OPTION',
    `"${model}" cannot be the name of a Gemini model. Use one like gemini-flash-latest.`,
  );
}

/** A key as an HTTP header can carry it; blanks around it come with copying. The message never shows it. */
function checkKey(apiKey: string): string {
  const key = apiKey.trim();
  if (key === '') {
    throw new ConfigError(
      'MISSING_KEY',
      'There is no API key for Gemini. Set GEMINI_API_KEY (https://aistudio.google.com/apikey).',
    );
  }
  if (/^[!-~]+$/.test(key)) return key;
  throw new ConfigError(
    'BAD_OPTION',
    'The API key for Gemini holds a blank or a character that no key has. Copy it again into GEMINI_API_KEY.',
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
