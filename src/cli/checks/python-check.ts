import {
  inspectPythonEnvironment,
  type PythonEnvironmentState,
} from '../../sandbox/local/python-environment.js';
import { probeInterpreter } from '../../sandbox/local/python-interpreter.js';
import type { Check, CheckOptions } from './check.js';

/** The interpreter and the environment that scripts run in; nothing is made. */
export async function checkPython(options: CheckOptions): Promise<Check> {
  const check = { name: 'Python', isRequired: true };
  const state = await inspectPythonEnvironment(options);
  return { ...check, ...(await described(state, options)) };
}

async function described(
  state: PythonEnvironmentState,
  options: CheckOptions,
): Promise<Pick<Check, 'state' | 'found' | 'remedy'>> {
  switch (state.status) {
    case 'unusable':
      return { state: 'failed', found: state.error.message };
    case 'to-be-made':
      return {
        state: 'ok',
        found: `${state.interpreter.version} (${state.interpreter.path}); its environment is made on first use`,
        remedy: `Nothing to do. It will be at ${state.folder} and takes a download of some 150 MB.`,
      };
    case 'named':
    case 'made': {
      const probe = await probeInterpreter(state.pythonPath, [], options);
      const origin = state.status === 'named' ? 'named by COLAB_SOLVER_PYTHON' : 'ready';
      if (probe !== undefined) {
        return { state: 'ok', found: `${probe.version}, ${origin} (${state.pythonPath})` };
      }
      return {
        state: 'failed',
        found: `${state.pythonPath} does not run`,
        remedy: 'Remove its environment folder; it is made anew on first use.',
      };
    }
  }
}
