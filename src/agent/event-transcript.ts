import type { Content } from '../parts/content.js';
import type { Part } from '../parts/part.js';
import type { RunEvent } from './events.js';

/** What a run that was cut short had come to, put together from its events; a run that ended has its own contents. */
export class EventTranscript {
  readonly #parts: Part[] = [];
  #prompt: string | undefined;
  #model = '';
  /** Where the response begins that is under way; a retry takes it back. */
  #responseStart = 0;

  add(event: RunEvent): void {
    switch (event.type) {
      case 'run-start':
        this.#prompt = event.prompt;
        this.#model = event.model;
        return;
      case 'step-start':
        this.#responseStart = this.#parts.length;
        return;
      case 'retry':
        this.#parts.length = this.#responseStart;
        return;
      case 'text':
        if (!event.thought) this.#say(event.text);
        return;
      case 'code':
        this.#parts.push({
          executableCode: { language: 'PYTHON', code: event.code, id: event.id },
        });
        return;
      case 'code-result':
        this.#parts.push({ codeExecutionResult: event.result });
        return;
      case 'function-call':
        this.#parts.push({ functionCall: event.call });
        return;
      case 'function-response':
        this.#parts.push({ functionResponse: event.response });
        return;
      case 'notice':
      case 'output':
      case 'display':
      case 'files':
      case 'step-end':
      case 'run-end':
    }
  }

  /** Text comes in pieces; what follows each other in a response is one part. */
  #say(text: string): void {
    const index = this.#parts.length - 1;
    const last = index < this.#responseStart ? undefined : this.#parts[index];
    if (last?.text === undefined) this.#parts.push({ text });
    else this.#parts[index] = { text: last.text + text };
  }

  get model(): string {
    return this.#model;
  }

  /** Undefined before the run began. */
  get contents(): Content[] | undefined {
    if (this.#prompt === undefined) return undefined;
    return [
      { role: 'user', parts: [{ text: this.#prompt }] },
      { role: 'model', parts: this.#parts },
    ];
  }
}
