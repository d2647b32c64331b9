import type { Content } from '../parts/content.js';
import type { Usage } from '../parts/usage.js';

/** A function the model may call, as declared to the API. */
export interface FunctionDeclaration {
  name: string;
  description: string;
  /** JSON Schema of the arguments object. */
  parametersJsonSchema: Record<string, unknown>;
}

export interface ModelRequest {
  /** The history in wire form, last entry from the user; sent exactly as it is. */
  contents: readonly Content[];
  systemInstruction: string;
  functions: readonly FunctionDeclaration[];
  /** `none` where the model must answer in text; functions stay declared for the calls that the history holds. */
  functionCalling: 'auto' | 'none';
  signal?: AbortSignal;
  /** Told of each request that brought no response: one that failed, also where it is then sent again. */
  onSpent?: (usage: Usage) => void;
}

export type ModelEvent =
  /** A piece of text as it streams; `thought` for the model's own notes. */
  | { type: 'text'; text: string; thought: boolean }
  /** The request is sent again after a pause; text streamed since it began counts no more. `code` is that of the error. */
  | { type: 'retry'; reason: string; attempt: number; delayMs: number; code?: string };

export interface ModelResponse {
  /** Everything the model sent, in order, with signatures and unknown parts; `parts` is empty where nothing came. */
  content: Content;
  /** As the API gives it, an open set; '' where the prompt was blocked. */
  finishReason: string;
  finishMessage?: string;
  /** Set where the prompt itself was blocked. */
  blockReason?: string;
  /** Of the requests sent for this response, save those told to `onSpent`. */
  usage: Usage;
}

/**
 * How a model is given the images that a script displayed: inside the answer to its call (Gemini 3 and later), as parts
 * behind the answers (Gemini 2.5), or not at all.
 */
export type ImageWay = 'in-response' | 'beside' | 'none';

/** Where responses come from: Gemini, or recorded runs. */
export interface Model {
  readonly id: string;
  /** Default `none`. */
  readonly images?: ImageWay;
  /**
   * Sends one request, repeating it where the failure may pass, and yields what streams in.
   * @throws {ModelError} when it cannot be had; the signal's reason when cancelled.
   */
  generate(request: ModelRequest): AsyncGenerator<ModelEvent, ModelResponse, undefined>;
}
