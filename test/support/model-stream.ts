import type { Model, ModelEvent, ModelRequest, ModelResponse } from '../../src/agent/model.js';
import type { Content } from '../../src/parts/content.js';

export const EXECUTE_CODE_DECLARATION = {
  name: 'execute_code',
  description: 'Runs Python.',
  parametersJsonSchema: {
    type: 'object',
    properties: { code: { type: 'string' } },
    required: ['code'],
  },
};

/** A request with `execute_code`; a string is the user's prompt. */
export function ask(
  contents: string | readonly Content[],
  rest: Partial<ModelRequest> = {},
): ModelRequest {
  return {
    contents:
      typeof contents === 'string' ? [{ role: 'user', parts: [{ text: contents }] }] : contents,
    systemInstruction: 'Compute, do not guess.',
    functions: [EXECUTE_CODE_DECLARATION],
    functionCalling: 'auto',
    ...rest,
  };
}

/** Everything a model yields for a request, and its response. */
export async function collect(
  model: Model,
  request: ModelRequest,
): Promise<{ events: ModelEvent[]; response: ModelResponse }> {
  const events: ModelEvent[] = [];
  const stream = model.generate(request);
  for (;;) {
    const next = await stream.next();
    if (next.done === true) return { events, response: next.value };
    events.push(next.value);
  }
}

/** What a model fails with. */
export async function failureOf(model: Model, request: ModelRequest): Promise<unknown> {
  return collect(model, request).then(
    ({ response }) => {
      throw new Error(`Expected a failure, got ${JSON.stringify(response)}`);
    },
    (error: unknown) => error,
  );
}
