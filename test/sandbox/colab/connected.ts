import { connectColab } from '../../../src/sandbox/colab/colab-sandbox.js';
import type { ColabOptions } from '../../../src/sandbox/colab/colab-sandbox.js';
import { fixedToken } from '../../../src/sandbox/colab/sign-in.js';
import type { Sandbox } from '../../../src/sandbox/sandbox.js';
import type { ScriptedColab, ToolCall } from '../../support/scripted-colab.js';

/** Repeats without making a test wait. */
export const quickly = { attempts: 4, firstDelayMs: 1, maxDelayMs: 2, maxServerDelayMs: 1_000 };

export const LONG_MS = 60_000;

export function connect(
  server: ScriptedColab,
  options: Partial<ColabOptions> = {},
): Promise<Sandbox> {
  const signIn = fixedToken('secret-token-1234');
  return connectColab({ url: server.url, signIn, policy: quickly, ...options });
}

/** A healthy kernel's answer to a script. */
export function ok(server: ScriptedColab, fields: object = {}): (call: ToolCall) => void {
  return (call) => {
    server.kernel.executionCount += 1;
    call.result({ executionCount: server.kernel.executionCount, ...fields });
  };
}
