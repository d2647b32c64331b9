import { DEFAULT_RETRY_POLICY } from '../retry.js';
import { shapeOf, specText } from '../sandbox/colab/accelerator-wish.js';
import { listSpecs } from '../sandbox/colab/make-runtime.js';
import type { RuntimeSpec } from '../sandbox/colab/tool-results.js';
import { machineSpecs } from '../sandbox/local/runtime-specs.js';
import type { CommandContext } from './command-context.js';
import { atEndpoint, endpointOf } from './endpoint.js';
import type { EndpointConfig, EndpointFlags } from './endpoint.js';
import { exitCodes } from './exit-code.js';
import type { ExitCode } from './exit-code.js';
import { printable } from './render/printable.js';
import { tableLines } from './render/table.js';
import { resultScreen } from './result-screen.js';

export interface SpecsFlags extends EndpointFlags {
  json?: boolean;
}

/** What can be had; nothing is started to find out. */
export async function specsCommand(flags: SpecsFlags, context: CommandContext): Promise<ExitCode> {
  const { stdout, signal, env } = context;
  const config = endpointOf(flags, env);
  using screen = resultScreen(flags, context, flags.json);
  screen.status((frame) => `${frame} asking ${config?.url ?? 'this machine'}`);
  const specs = await (config === undefined ? localSpecs() : specsAt(config, signal));
  screen.clearStatus();
  if (flags.json === true) {
    const record = { url: config?.url ?? null, specs: specs.map(specRecord) };
    stdout.write(`${JSON.stringify(record, undefined, 2)}\n`);
    return exitCodes.done;
  }
  screen.note(
    config === undefined
      ? 'What the local sandbox has on this machine:'
      : `What ${config.url} offers this account:`,
  );
  for (const line of tableLines([HEADER, ...specs.map(specRow)])) screen.resultLine(line);
  return exitCodes.done;
}

async function localSpecs(): Promise<RuntimeSpec[]> {
  return (await machineSpecs()).map((key) => ({ key: { ...key }, eligible: true }));
}

function specsAt(config: EndpointConfig, signal: AbortSignal): Promise<RuntimeSpec[]> {
  return atEndpoint(config, (connection) =>
    listSpecs({ connection, policy: DEFAULT_RETRY_POLICY, signal }),
  );
}

const HEADER = ['ACCELERATOR', 'KIND', 'SHAPE', 'ELIGIBLE'];

function specRow({ key, eligible }: RuntimeSpec): string[] {
  const kind = key.variant.replace(/^VARIANT_/, '');
  return [specText(key), kind, shapeOf(key), eligible ? 'yes' : 'no'].map(printable);
}

/** `name` is what --accelerator takes. */
function specRecord({ key, eligible }: RuntimeSpec) {
  const { variant, accelerator, shape } = key;
  return { name: specText(key), variant, accelerator, shape, eligible };
}
