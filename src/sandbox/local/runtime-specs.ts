import { execFile } from 'node:child_process';

/** A machine configuration in Colab's words. */
export interface RuntimeSpecKey {
  variant: 'VARIANT_UNSPECIFIED' | 'VARIANT_CPU' | 'VARIANT_GPU' | 'VARIANT_TPU';
  /** `NONE`, or a model such as `T4`. */
  accelerator: string;
  shape: 'SHAPE_UNSPECIFIED' | 'SHAPE_STANDARD' | 'SHAPE_HIGHMEM';
}

const CPU: RuntimeSpecKey = {
  variant: 'VARIANT_CPU',
  accelerator: 'NONE',
  shape: 'SHAPE_STANDARD',
};

const PROBE_TIMEOUT_MS = 5_000;

/** What this machine offers: its CPU, and a GPU where NVIDIA's own tool names one. Never fails. */
export async function machineSpecs(
  gpuNames: () => Promise<string[]> = askNvidia,
): Promise<RuntimeSpecKey[]> {
  const accelerators = new Set((await gpuNames()).map(acceleratorOf));
  const gpus = [...accelerators].map((accelerator) => ({
    variant: 'VARIANT_GPU' as const,
    accelerator,
    shape: 'SHAPE_STANDARD' as const,
  }));
  return [CPU, ...gpus];
}

export function isSameSpec(one: RuntimeSpecKey, other: RuntimeSpecKey): boolean {
  return (
    one.variant === other.variant &&
    one.accelerator === other.accelerator &&
    one.shape === other.shape
  );
}

/** `Tesla T4` → `T4`, `NVIDIA A100-SXM4-40GB` → `A100`, `NVIDIA GeForce RTX 4090` → `RTX4090`. */
export function acceleratorOf(gpuName: string): string {
  const [model] = /(?:[RG]TX\s*)?[a-z]*\d+/i.exec(gpuName) ?? [gpuName];
  return model.replaceAll(/\s/g, '').toUpperCase();
}

function askNvidia(): Promise<string[]> {
  const options = { timeout: PROBE_TIMEOUT_MS, killSignal: 'SIGKILL' as const };
  return new Promise((resolve) => {
    execFile(
      'nvidia-smi',
      ['--query-gpu=name', '--format=csv,noheader'],
      options,
      (error, stdout) => {
        // No tool, no driver or no answer in time all mean the same: no GPU to offer.
        resolve(error === null ? stdout.split('\n').filter((line) => line.trim() !== '') : []);
      },
    );
  });
}
