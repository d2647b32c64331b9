import { z } from 'zod';
import { RESOURCE_ID, RUNTIME_NAME, SESSION_NAME } from './resource-names.js';

/**
 * Input and output of the ten tools, as on Google's reference pages for the Colab MCP server
 * (https://developers.google.com/colab/api/reference/mcp). As in proto3, an empty optional text is an absent one.
 */

const name = (form: RegExp, format: string, description: string) =>
  z
    .string()
    .regex(form, `must have the form ${format}`)
    .describe(`${description} Format: ${format}.`);

const optionalText = (description: string, form = /^/, rule = '') =>
  z
    .string()
    .refine((text) => text === '' || form.test(text), rule)
    .transform((text) => (text === '' ? undefined : text))
    .optional()
    .describe(description);

const RUNTIME_FORMAT = 'runtimes/{runtime}';
const SESSION_FORMAT = 'runtimes/{runtime}/sessions/{session}';
const runtimeName = (description: string) => name(RUNTIME_NAME, RUNTIME_FORMAT, description);
const sessionName = (description: string) => name(SESSION_NAME, SESSION_FORMAT, description);
const optionalName = (form: RegExp, format: string, description: string) =>
  optionalText(`${description} Format: ${format}.`, form, `must have the form ${format}`);

const ID_RULE =
  'must be 1 to 63 lower-case letters, digits and hyphens, begin with a letter and end with a letter or digit';
const optionalId = (description: string) =>
  optionalText(`${description} It ${ID_RULE}.`, RESOURCE_ID, ID_RULE);
const optionalUuid = (description: string) =>
  optionalText(description, /^.{1,128}$/, 'must have at most 128 characters');

const KeySchema = z
  .object({
    variant: z
      .enum(['VARIANT_UNSPECIFIED', 'VARIANT_CPU', 'VARIANT_GPU', 'VARIANT_TPU'])
      .describe('Kind of machine.'),
    accelerator: z.string().describe('Model of the accelerator, such as T4; NONE for a CPU.'),
    shape: z.enum(['SHAPE_UNSPECIFIED', 'SHAPE_STANDARD', 'SHAPE_HIGHMEM']).describe('Memory.'),
  })
  .describe('A machine configuration.');

const RuntimeSchema = z.object({
  name: z.string().describe('runtimes/{runtime}'),
  runtimeSpec: KeySchema,
  connectionInfo: z
    .object({
      url: z.string().describe('Base URL of the file proxy.'),
      token: z.string().describe('Value of the header X-Colab-Runtime-Proxy-Token.'),
      expireTime: z.string().describe('When the token expires, RFC 3339.'),
    })
    .describe('How to transfer files.'),
  version: z.string().describe("The runtime's image."),
});

const SessionSchema = z.object({
  name: z.string().describe('runtimes/{runtime}/sessions/{session}'),
});

const Empty = z.object({});

export const schemas = {
  list_runtime_specs: {
    input: Empty,
    output: z.object({
      runtimeSpecs: z.array(
        z.object({
          key: KeySchema,
          eligible: z.boolean().describe('Whether you may create such a runtime.'),
        }),
      ),
    }),
  },
  create_runtime: {
    input: z.object({
      runtime: z
        .object({
          runtimeSpec: KeySchema,
          version: optionalText('Leave empty: this server has one image.'),
        })
        .describe('The runtime wanted.'),
      requestId: optionalUuid(
        'A UUID of yours. Repeating a call with it gives the same runtime and never a second one.',
      ),
      runtimeId: optionalId('The last part of the name; random if absent.'),
    }),
    output: RuntimeSchema,
  },
  get_runtime: {
    input: z.object({ name: runtimeName('The runtime.') }),
    output: RuntimeSchema,
  },
  list_runtimes: { input: Empty, output: z.object({ runtimes: z.array(RuntimeSchema) }) },
  delete_runtime: {
    input: z.object({
      name: runtimeName('The runtime.'),
      allowMissing: z.boolean().default(false).describe('Succeed where it does not exist.'),
    }),
    output: Empty,
  },
  get_subscription: {
    input: Empty,
    output: z.object({
      name: z.string().describe('Always `subscription`.'),
      tier: z.enum([
        'SUBSCRIPTION_TIER_UNSPECIFIED',
        'SUBSCRIPTION_TIER_FREE',
        'SUBSCRIPTION_TIER_PRO',
        'SUBSCRIPTION_TIER_PRO_PLUS',
      ]),
    }),
  },
  create_session: {
    input: z.object({
      parent: runtimeName('The runtime on which to open it.'),
      sessionId: optionalId('The last part of the name; a random UUID if absent.'),
      session: z.looseObject({}).optional().describe('Ignored; a session has no settings.'),
    }),
    output: SessionSchema,
  },
  list_sessions: {
    input: z.object({ parent: runtimeName('The runtime.') }),
    output: z.object({ sessions: z.array(SessionSchema) }),
  },
  delete_session: {
    input: z.object({ name: sessionName('The session.') }),
    output: Empty,
  },
  execute_code: {
    input: z
      .object({
        code: z.string().describe('Python source.'),
        executionId: optionalUuid(
          'A UUID of yours, new for each script, that lets the same call attach again after a lost connection. Works with `session` only.',
        ),
        runtime: optionalName(
          RUNTIME_NAME,
          RUNTIME_FORMAT,
          'Run in a new session of this runtime.',
        ),
        session: optionalName(
          SESSION_NAME,
          SESSION_FORMAT,
          'Run in this session, which is opened if need be and keeps its state.',
        ),
      })
      .refine((target) => (target.runtime === undefined) !== (target.session === undefined), {
        error: 'exactly one of runtime and session must be set',
        path: ['target'],
      }),
    output: z.object({
      executionId: z.string().describe("The request's executionId; empty if it had none."),
      session: z.string().describe('Where the code ran: runtimes/{runtime}/sessions/{session}'),
      executionCount: z.int32().describe("Jupyter's In[n]; for information only."),
      stdout: z.string(),
      stderr: z.string(),
      result: z.string().describe("text/plain of the last expression's value, else empty."),
      executionError: z
        .object({
          name: z.string().describe('Class of the exception.'),
          value: z.string().describe('Its message.'),
          traceback: z.array(z.string()),
        })
        .optional()
        .describe('Present where the code raised.'),
      outputTruncated: z.boolean().describe('Whether only the end of the output was kept.'),
    }),
  },
} satisfies Record<string, { input: z.ZodType; output: z.ZodType }>;

export type ToolName = keyof typeof schemas;
export type ToolInput<Name extends ToolName> = z.output<(typeof schemas)[Name]['input']>;
export type ToolOutput<Name extends ToolName> = z.output<(typeof schemas)[Name]['output']>;

export type ExecuteCodeResult = ToolOutput<'execute_code'>;

/**
 * For `tools/list`. Left out: the dialect's name, which some clients' validators do not know; the ban on further
 * fields, which would make new ones a fault; and that an output's fields are required, because clients hold
 * `{"error": …}` of a failed call against the same schema.
 */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const json = z.toJSONSchema(schema, {
    io,
    target: 'draft-7',
    override: ({ jsonSchema: part }) => {
      delete part.additionalProperties;
      if (io === 'output') delete part.required;
    },
  });
  delete json.$schema;
  return { ...json };
}
