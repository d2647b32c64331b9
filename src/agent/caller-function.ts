import { z } from 'zod';
import { ConfigError } from '../errors.js';
import { EXECUTE_CODE } from '../parts/code-part.js';
import type { FunctionCall, FunctionResponse } from '../parts/part.js';
import type { FunctionDeclaration } from './model.js';

/** A schema of zod 4, mini too, from whichever copy of it the caller has: their classes differ in type by version. */
export interface ZodSchema<Output = unknown> {
  readonly _zod: { readonly output: Output };
}

/** A function of the caller's that the model may call beside `execute_code`. */
export interface CallerFunction {
  /** A letter or `_`, then letters, digits, `_ . : -`; at most 128. */
  name: string;
  description: string;
  /** The arguments object, as a zod 4 object or as JSON Schema of type `object`. */
  parameters: ZodSchema | Record<string, unknown>;
  /**
   * Gets arguments that fit `parameters`; returns anything JSON can hold. What it throws is told to the model.
   * Called concurrently where the model asks for several functions at once.
   */
  // Plain objects in a list cannot tie `args` to `parameters`; defineFunction can, and the schema guards the call.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  execute(args: any, options: { signal: AbortSignal }): unknown;
}

/** A caller's function whose `execute` gets its argument type from a zod schema. */
export function defineFunction<Args>(
  definition: Omit<CallerFunction, 'parameters' | 'execute'> & {
    parameters: ZodSchema<Args>;
    execute(args: Args, options: { signal: AbortSignal }): unknown;
  },
): CallerFunction {
  return definition;
}

/** The caller's functions, checked once and ready to be declared and called. */
export interface FunctionTable {
  declarations: FunctionDeclaration[];
  /** Never rejects: an unknown name, bad arguments and a thrown error are all answered to the model. */
  call(call: FunctionCall, signal: AbortSignal): Promise<FunctionResponse>;
}

interface Entry {
  execute: (args: unknown, options: { signal: AbortSignal }) => unknown;
  arguments: z.core.$ZodType;
  declaration: FunctionDeclaration;
}

/** @throws {ConfigError} for a bad or repeated name or a schema that cannot be used. */
export function functionTable(functions: readonly CallerFunction[]): FunctionTable {
  const entries = new Map<string, Entry>();
  for (const item of functions) {
    if (typeof item.name !== 'string' || !/^[A-Za-z_][\w.:-]{0,127}$/.test(item.name)) {
      throw badFunction(
        item.name,
        'Use a letter or "_" first, then letters, digits and _ . : - (at most 128).',
      );
    }
    if (typeof item.execute !== 'function') {
      throw badFunction(item.name, 'Its execute must be a function.');
    }
    if (item.name === EXECUTE_CODE || entries.has(item.name)) {
      throw badFunction(item.name, 'The name is taken; choose another one.');
    }
    entries.set(item.name, entryOf(item));
  }
  return {
    declarations: [...entries.values()].map((entry) => entry.declaration),
    async call(call, signal) {
      const response = await answer(entries, call, signal);
      return { ...(call.id !== undefined && { id: call.id }), name: call.name, response };
    },
  };
}

async function answer(
  entries: ReadonlyMap<string, Entry>,
  call: FunctionCall,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  if (call.name === EXECUTE_CODE) {
    return {
      error: `${EXECUTE_CODE} takes one argument, code: a string that holds a Python script.`,
    };
  }
  const entry = entries.get(call.name);
  if (entry === undefined) {
    const known = [EXECUTE_CODE, ...entries.keys()].join(', ');
    return { error: `There is no function ${call.name}. Functions that exist: ${known}.` };
  }
  try {
    // A copy: what goes back to the API must stay as it came, whatever the function does with its arguments.
    const args = await z.safeParseAsync(entry.arguments, structuredClone(call.args ?? {}));
    if (!args.success) {
      return {
        error: `The arguments do not fit the schema of ${call.name}:\n${z.prettifyError(args.error)}`,
      };
    }
    return { output: jsonValue(await entry.execute(args.data, { signal })) };
  } catch (error) {
    return {
      error: `${call.name} failed: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** The value as JSON carries it; what it has no word for, such as `undefined`, becomes null. Throws for a cycle or a bigint. */
function jsonValue(value: unknown): unknown {
  const json = JSON.stringify(value) as string | undefined;
  return json === undefined ? null : JSON.parse(json);
}

function entryOf(item: CallerFunction): Entry {
  const { name, description, parameters } = item;
  const execute = item.execute.bind(item) as Entry['execute'];
  try {
    const { schema, json } = readSchema(parameters);
    const { $schema: _, ...parametersJsonSchema } = json;
    if (json['type'] !== 'object') throw new TypeError('its type must be "object"');
    return {
      execute,
      arguments: schema,
      declaration: { name, description, parametersJsonSchema },
    };
  } catch (error) {
    throw badFunction(name, `Its parameters cannot be used as a schema: ${String(error)}`, error);
  }
}

function readSchema(parameters: CallerFunction['parameters']): {
  schema: z.core.$ZodType;
  json: Record<string, unknown>;
} {
  if (parameters instanceof z.core.$ZodType) {
    return { schema: parameters, json: z.toJSONSchema(parameters, { io: 'input' }) };
  }
  const json = parameters as Record<string, unknown>;
  return { schema: z.fromJSONSchema(json), json };
}

function badFunction(name: string, remedy: string, cause?: unknown): ConfigError {
  return new ConfigError('BAD_OPTION', `functions: cannot declare "${name}". ${remedy}`, { cause });
}
