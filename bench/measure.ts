/** One way of doing the job; each times itself from sending the request to having everything back. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  /** Does the job once and gives its time in milliseconds. */
  measure(): Promise<number>;
}

export interface Spread {
  samples: number;
  medianMs: number;
  p10Ms: number;
  p90Ms: number;
}

export interface MeasureOptions {
  /** Rounds that do not count; a kernel compiles and caches in its first ones. */
  warmUpRounds: number;
  rounds: number;
}

/** Lets the contenders take turns, A B C A B C, so that whatever the machine does meanwhile hits all alike. */
export async function measureInTurns(
  contenders: readonly Contender[],
  options: MeasureOptions,
): Promise<Map<string, Spread>> {
  const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  for (let round = -options.warmUpRounds; round < options.rounds; round++) {
    for (const contender of contenders) {
      const elapsedMs = await contender.measure();
      if (round >= 0) times.get(contender.name)?.push(elapsedMs);
    }
  }
  return new Map([...times].map(([name, values]) => [name, spreadOf(values)]));
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => {
    const position = share * (sorted.length - 1);
    const below = sorted[Math.floor(position)] ?? Number.NaN;
    const above = sorted[Math.ceil(position)] ?? Number.NaN;
    return below + (above - below) * (position - Math.floor(position));
  };
  return { samples: sorted.length, medianMs: at(0.5), p10Ms: at(0.1), p90Ms: at(0.9) };
}
