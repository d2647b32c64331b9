import { endOf } from '../agent/end-of.js';
import type { Model } from '../agent/model.js';
import { textOf } from '../parts/content.js';
import { addUsage, emptyUsage } from '../parts/usage.js';
import type { Judge } from './grader.js';

/** Asks the model itself, without functions and without an instruction beside the prompt. */
export function judgeBy(model: Model): Judge {
  return async (prompt, { signal }) => {
    let usage = emptyUsage();
    const events = model.generate({
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      systemInstruction: '',
      functions: [],
      functionCalling: 'none',
      signal,
      onSpent: (spent) => {
        usage = addUsage(usage, spent);
      },
    });
    const { content, usage: last } = await endOf(events);
    return { text: textOf(content.parts), usage: addUsage(usage, last) };
  };
}
