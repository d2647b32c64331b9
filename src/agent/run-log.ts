import type { Logger } from '../logger.js';
import type { RunEvent } from './events.js';

/** What a log keeps of an event: how things went and how long they took, never what was written or printed. */
export function logEvent(logger: Logger, event: RunEvent): void {
  switch (event.type) {
    case 'run-start':
      logger.info('Run started', { model: event.model });
      return;
    case 'notice':
      logger.info(event.text);
      return;
    case 'retry': {
      const { reason, attempt, delayMs } = event;
      logger.info('Asking the model again', { reason, attempt, delayMs });
      return;
    }
    case 'code':
      logger.debug('Script started', { id: event.id, characters: event.code.length });
      return;
    case 'code-result': {
      const { id, result, durationMs } = event;
      const { outcome, output } = result;
      logger.debug('Script ended', { id, outcome, characters: output.length, durationMs });
      return;
    }
    case 'function-call':
      logger.debug('Function called', { name: event.call.name });
      return;
    case 'step-end':
      logger.debug('Step ended', { step: event.step, usage: event.usage });
      return;
    case 'run-end': {
      const { status, reason, steps, executions, usage, durationMs } = event;
      logger.info('Run ended', { status, reason, steps, executions, usage, durationMs });
      return;
    }
    case 'step-start':
    case 'text':
    case 'output':
    case 'display':
    case 'files':
    case 'function-response':
  }
}
