import { boolean } from './graders/boolean.js';
import { choice } from './graders/choice.js';
import { exact } from './graders/exact.js';
import { math } from './graders/math.js';
import { numeric } from './graders/numeric.js';
import type { Grader, GraderFault, GraderOptions } from './grader.js';
import type { Sample } from './sample.js';

/** Those that need no more than a name. */
export const builtInGraders: readonly Grader[] = [exact, numeric, boolean, choice, math];

/** Graders by name; a later one replaces an earlier one of the same name. */
export type GraderTable = ReadonlyMap<string, Grader>;

export function graderTable(custom: readonly Grader[] = []): GraderTable {
  return new Map([...builtInGraders, ...custom].map((grader) => [grader.name, grader]));
}

/** The sample's grader, or what is wrong with it; undefined where there is nothing to compare with. */
export function chooseGrader(
  sample: Sample,
  table: GraderTable,
): { grader: Grader; options: GraderOptions } | { fault: GraderFault } | undefined {
  if (sample.grader === undefined && sample.target === undefined) return undefined;
  const name = sample.grader ?? graderForTarget(sample.target);
  const grader = table.get(name);
  if (grader === undefined) {
    const known = [...table.keys()].join(', ');
    return { fault: { field: 'grader', problem: `"${name}" is not known; there are ${known}` } };
  }
  if (sample.target === undefined && grader.withoutTarget !== true) {
    return { fault: { field: 'target', problem: `is missing, and ${name} compares with it` } };
  }
  const options = optionsOf(sample);
  const fault = grader.check?.(sample.target, options);
  return fault === undefined ? { grader, options } : { fault };
}

/** Which grader a target asks for where none is named. */
export function graderForTarget(target: unknown): string {
  if (typeof target === 'number') return 'numeric';
  if (typeof target === 'boolean') return 'boolean';
  if (Array.isArray(target)) return 'list';
  if (typeof target === 'object' && target !== null) return 'named-values';
  return 'exact';
}

const FROM_METADATA = ['unit', 'tolerance', 'choices'] as const;

/** Public data sets keep what a grader should know with the metadata. */
function optionsOf(sample: Sample): GraderOptions {
  const noted = FROM_METADATA.flatMap((name) => {
    const value = sample.metadata[name];
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(noted), ...sample.options };
}
