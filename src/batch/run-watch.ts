import { EventTranscript } from '../agent/event-transcript.js';
import type { RunEvent } from '../agent/events.js';
import type { Model } from '../agent/model.js';
import type { Content } from '../parts/content.js';
import { addUsage, emptyUsage } from '../parts/usage.js';
import type { Usage } from '../parts/usage.js';
import type { UnplacedRecord } from './journal.js';

/** Follows one run by its events, so that there is something to tell also of one that never came to its end. */
export class RunWatch {
  readonly outcomes = { ok: 0, failed: 0, deadlineExceeded: 0 };
  usage: Usage = emptyUsage();
  steps = 0;
  executions = 0;
  requestRetries = 0;
  sandboxMs = 0;
  modelMs = 0;
  readonly #startedAt = performance.now();
  readonly #transcript = new EventTranscript();

  see(event: RunEvent): void {
    this.#transcript.add(event);
    switch (event.type) {
      case 'step-start':
        this.steps = event.step;
        return;
      case 'retry':
        this.requestRetries += 1;
        return;
      case 'code':
        this.executions += 1;
        return;
      case 'code-result':
        this.sandboxMs += event.durationMs;
        this.#count(event.result.outcome);
        return;
      case 'text':
      case 'step-end':
      case 'run-start':
      case 'run-end':
      case 'notice':
      case 'function-call':
      case 'output':
      case 'function-response':
      case 'display':
      case 'files':
    }
  }

  /** The model with a meter on it, for this run alone: requests that failed cost time and tokens, too. */
  metered(model: Model): Model {
    const count = (usage: Usage): void => {
      this.usage = addUsage(this.usage, usage);
    };
    const time = (ms: number): void => {
      this.modelMs += ms;
    };
    return {
      id: model.id,
      async *generate(request) {
        const askedAt = performance.now();
        try {
          const onSpent = (usage: Usage): void => {
            count(usage);
            request.onSpent?.(usage);
          };
          const response = yield* model.generate({ ...request, onSpent });
          count(response.usage);
          return response;
        } finally {
          time(performance.now() - askedAt);
        }
      },
    };
  }

  get durationMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** Of a run that broke off: what it came to until then, without its charts. */
  contents(prompt: string): Content[] {
    const begun = this.#transcript.contents;
    return (
      begun ?? [
        { role: 'user', parts: [{ text: prompt }] },
        { role: 'model', parts: [] },
      ]
    );
  }

  /** Fields of the record that were counted here. */
  figures(): Pick<
    UnplacedRecord,
    'steps' | 'executions' | 'outcomes' | 'modelMs' | 'sandboxMs' | 'durationMs'
  > {
    return {
      steps: this.steps,
      executions: this.executions,
      outcomes: this.outcomes,
      durationMs: this.durationMs,
      modelMs: Math.round(this.modelMs),
      sandboxMs: Math.round(this.sandboxMs),
    };
  }

  #count(outcome: string): void {
    if (outcome === 'OUTCOME_OK') this.outcomes.ok += 1;
    else if (outcome === 'OUTCOME_DEADLINE_EXCEEDED') this.outcomes.deadlineExceeded += 1;
    else this.outcomes.failed += 1;
  }
}
