import { ConfigError } from '../errors.js';

/** Which samples run, and in which order. */
export interface Selection {
  /** The first so many, after shuffling where that is asked for. */
  limit?: number | undefined;
  /** These alone, in the order of the data set. */
  sampleIds?: readonly string[] | undefined;
  shuffle?: boolean | undefined;
  /** Of the shuffling: the same seed gives the same order. */
  seed?: number | undefined;
}

/** Places of the chosen samples, in the order in which they run. @throws {ConfigError} for an id that is not there. */
export function selectSamples(ids: readonly string[], selection: Selection): number[] {
  const { limit = ids.length, sampleIds, shuffle = false, seed = 0 } = selection;
  const chosen = sampleIds === undefined ? [...ids.keys()] : placesOf(ids, sampleIds);
  return (shuffle ? shuffled(chosen, seed) : chosen).slice(0, limit);
}

function placesOf(ids: readonly string[], wanted: readonly string[]): number[] {
  const rest = new Set(wanted);
  const places = [...ids.keys()].filter((place) => rest.delete(ids[place] ?? ''));
  if (rest.size === 0) return places;
  const names = [...rest].slice(0, 5).map((id) => `"${id}"`);
  throw new ConfigError(
    'BAD_OPTION',
    `The data set has no sample ${names.join(', ')}. Its ids are like "${ids[0] ?? ''}".`,
  );
}

/** Fisher and Yates, from the end. */
function shuffled(places: number[], seed: number): number[] {
  const random = randomNumbers(seed);
  for (let last = places.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [places[last], places[other]] = [places[other] as number, places[last] as number];
  }
  return places;
}

/** Mulberry32: small, well spread, and the same on every machine. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
