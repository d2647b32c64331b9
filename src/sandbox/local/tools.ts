import { abortable } from '../../abort.js';
import { executeCode, type ExecuteCodeOptions } from './execute-code.js';
import { randomResourceId, splitSessionName } from './resource-names.js';
import type { RegisteredRuntime, RuntimeRegistry } from './runtime-registry.js';
import type { RuntimeSpecKey } from './runtime-specs.js';
import { StatusError } from './status.js';
import { parseInput, type Tool, type ToolAnnotations, type ToolCall } from './tool.js';
import {
  jsonSchema,
  schemas,
  type ToolInput,
  type ToolName,
  type ToolOutput,
} from './tool-schemas.js';

export interface ToolsOptions {
  runtimes: RuntimeRegistry;
  specs: () => Promise<RuntimeSpecKey[]>;
  /** Where a runtime's file proxy is served. */
  proxyUrl: (runtimeName: string) => string;
  execution: Omit<ExecuteCodeOptions, 'runtimes'>;
}

type ToolCalls = {
  [Name in ToolName]: (input: ToolInput<Name>, call: ToolCall) => Promise<ToolOutput<Name>>;
};

/** The ten tools of Google's Colab MCP server, over the runtimes of this machine. */
export function createTools(options: ToolsOptions): ReadonlyMap<string, Tool> {
  const calls = toolCalls(options);
  const tool = (name: ToolName): Tool => {
    const { input, output } = schemas[name];
    const call = calls[name] as (
      input: unknown,
      call: ToolCall,
    ) => Promise<Record<string, unknown>>;
    return {
      name,
      ...texts[name],
      annotations: annotations[name],
      inputSchema: jsonSchema(input, 'input'),
      outputSchema: jsonSchema(output, 'output'),
      call: async (given, toolCall) => await call(parseInput(input, given), toolCall),
    };
  };
  return new Map((Object.keys(schemas) as ToolName[]).map((name) => [name, tool(name)]));
}

function toolCalls({ runtimes, specs, proxyUrl, execution }: ToolsOptions): ToolCalls {
  const describe = (runtime: RegisteredRuntime): ToolOutput<'get_runtime'> => ({
    name: runtime.name,
    runtimeSpec: runtime.spec,
    connectionInfo: { url: proxyUrl(runtime.name), ...runtime.proxyTokens.current() },
    version: `python-${runtime.jupyter.pythonVersion}`,
  });
  return {
    async list_runtime_specs() {
      return { runtimeSpecs: (await specs()).map((key) => ({ key, eligible: true })) };
    },

    async create_runtime({ runtime, runtimeId, requestId }, { signal }) {
      if (runtime.version !== undefined)
        throw new StatusError(
          'FAILED_PRECONDITION',
          `This server has one image and no version ${runtime.version}: leave runtime.version empty.`,
          { reason: 'VERSION_UNAVAILABLE' },
        );
      const creation = runtimes.create({ spec: runtime.runtimeSpec, runtimeId, requestId });
      return describe(await abortable(creation, signal));
    },

    async get_runtime({ name }) {
      return await Promise.resolve(describe(runtimes.get(name)));
    },

    async list_runtimes() {
      return await Promise.resolve({ runtimes: runtimes.list().map(describe) });
    },

    async delete_runtime({ name, allowMissing }, { signal }) {
      const isMissing = !runtimes.list().some((runtime) => runtime.name === name);
      if (!(isMissing && allowMissing)) await abortable(runtimes.delete(name), signal);
      return {};
    },

    async get_subscription() {
      return await Promise.resolve({
        name: 'subscription',
        tier: 'SUBSCRIPTION_TIER_FREE' as const,
      });
    },

    async create_session({ parent, sessionId = randomResourceId() }, { signal }) {
      await abortable(runtimes.get(parent).openSession(sessionId), signal);
      return { name: `${parent}/sessions/${sessionId}` };
    },

    async list_sessions({ parent }, { signal }) {
      const ids = await abortable(runtimes.get(parent).jupyter.listSessions(), signal);
      return { sessions: ids.map((id) => ({ name: `${parent}/sessions/${id}` })) };
    },

    async delete_session({ name }, { signal }) {
      const { runtime, sessionId } = splitSessionName(name);
      await abortable(runtimes.get(runtime).deleteSession(sessionId), signal);
      return {};
    },

    async execute_code(input, call) {
      return await executeCode(input, call, { runtimes, ...execution });
    },
  };
}

const reads: ToolAnnotations = {
  destructiveHint: false,
  idempotentHint: true,
  readOnlyHint: true,
  openWorldHint: false,
};
const makes: ToolAnnotations = {
  destructiveHint: false,
  idempotentHint: false,
  readOnlyHint: false,
  openWorldHint: false,
};
const deletes: ToolAnnotations = { ...makes, destructiveHint: true };

/** Those of execute_code, create_session and list_runtime_specs are documented; the others follow their manner. */
const annotations: Record<ToolName, ToolAnnotations> = {
  list_runtime_specs: reads,
  create_runtime: makes,
  get_runtime: reads,
  list_runtimes: reads,
  delete_runtime: deletes,
  get_subscription: reads,
  create_session: makes,
  list_sessions: reads,
  delete_session: deletes,
  execute_code: { ...deletes, openWorldHint: true },
};

const texts: Record<ToolName, { title: string; description: string }> = {
  list_runtime_specs: {
    title: 'List runtime specs',
    description: 'Says which kinds of runtime this machine can start.',
  },
  create_runtime: {
    title: 'Create a runtime',
    description:
      'Starts a runtime and answers when it is ready. Look into list_runtimes first: a runtime can serve many sessions. ' +
      'Give a new UUID as requestId, so that a call repeated after a lost connection does not start a second one.',
  },
  get_runtime: {
    title: 'Get a runtime',
    description:
      'Describes one runtime. To move files, send HTTP requests to connectionInfo.url with the header ' +
      'X-Colab-Runtime-Proxy-Token: {connectionInfo.token}. The working folder is content/. ' +
      'Download: GET {url}/files/{path}, Range allowed. ' +
      'Upload: PUT {url}/api/contents/{path} with {"type":"file","format":"base64","content":"…"} ("text" for plain text); ' +
      'folders first, one at a time, with {"type":"directory"}; above 50 MB in pieces with "chunk": 1, 2, … and -1 for the last. ' +
      'The token is good until connectionInfo.expireTime; afterwards every path answers 404: call this tool again.',
  },
  list_runtimes: {
    title: 'List runtimes',
    description: 'Lists the runtimes that are ready, with what get_runtime says of each.',
  },
  delete_runtime: {
    title: 'Delete a runtime',
    description:
      'Ends a runtime with all its sessions and removes its files. Only for a runtime you created; to free one session use delete_session.',
  },
  get_subscription: {
    title: 'Get the subscription',
    description: 'Names the tier of service; here always the free one, as nothing is charged.',
  },
  create_session: {
    title: 'Create a session',
    description:
      'Opens a Python session on a runtime, or gets the open one of that id. Scripts run in one session share variables and imports. ' +
      'Close it with delete_session, as it holds memory.',
  },
  list_sessions: {
    title: 'List sessions',
    description: 'Names the open sessions of a runtime, those that other clients opened included.',
  },
  delete_session: {
    title: 'Delete a session',
    description:
      'Ends a session: its variables are gone, its running and queued scripts are aborted, its files stay.',
  },
  execute_code: {
    title: 'Execute Python',
    description:
      'Runs Python in a Jupyter kernel and returns stdout, stderr, the value of the last expression and the exception, if any. ' +
      'Name either a session (opened if need be, keeps its variables) or a runtime (opens a new session, which stays open; ' +
      "the result's `session` names it). Scripts of one session run one after another. " +
      'Output is sent as progress notifications while it appears, and again in the result; of very long output only the end. ' +
      'Pass a session and a new UUID as executionId to be able to attach again: if the call ends without a result ' +
      '(DEADLINE_EXCEEDED, UNAVAILABLE, lost connection), repeat it unchanged, and it goes on with the same run. ' +
      'Once a result has arrived, the same id runs the code again. Cancelling interrupts the script. ' +
      'NOT_FOUND means that the session or its runtime is gone, its variables too. Move files with get_runtime, not through this tool.',
  },
};
