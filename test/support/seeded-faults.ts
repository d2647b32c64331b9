import type { Fault, Shape, StatusName } from './fault.js';
import { SHAPES } from './fault.js';
import type { PassingCall } from './faulty-colab.js';

/** Uniform in [0, 1), the same for the same seed (mulberry32 over a hash of the text). */
export function seededRandom(seed: string): () => number {
  let state = hash(seed);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  return value;
}

type Maker = (shape: Shape, random: () => number) => Fault;

/** With its weight; what costs a session is rare, so that sessions live long enough to be worth attacking. */
type Weighted = readonly (readonly [weight: number, make: Maker])[];

const lose =
  (how: 'hang-up' | 'cut' | 'clean-end', when: 'before' | 'begun' | 'while' | 'after'): Maker =>
  () => ({ lose: how, when });
const refuse =
  (status: StatusName, when: 'before' | 'begun' | 'while' | 'after' = 'before'): Maker =>
  (shape) => ({ refuse: status, shape, when });
const limited: Maker = (shape, random) => ({
  refuse: 'RESOURCE_EXHAUSTED',
  shape,
  ...(random() < 0.5 && { retryAfterSeconds: 0.01 }),
});
const expired: Maker = () => ({ happens: 'mcp-session-expired' });

const ANY_CALL: Weighted = [
  [6, lose('hang-up', 'before')],
  [6, lose('cut', 'before')],
  [6, lose('clean-end', 'before')],
  [6, refuse('UNAVAILABLE')],
  [10, limited],
  [5, refuse('UNAUTHENTICATED')],
  [5, expired],
];

/** Calls that may be repeated at will. */
const SAFE_CALL: Weighted = [
  ...ANY_CALL,
  [6, lose('hang-up', 'after')],
  [6, lose('cut', 'after')],
  [6, lose('clean-end', 'after')],
  [6, refuse('UNAVAILABLE', 'after')],
  [4, refuse('DEADLINE_EXCEEDED', 'after')],
];

const SCRIPT: Weighted = [
  ...ANY_CALL,
  [12, lose('hang-up', 'begun')],
  [12, lose('cut', 'begun')],
  [12, lose('clean-end', 'begun')],
  [12, lose('cut', 'while')],
  [12, lose('clean-end', 'while')],
  [12, refuse('UNAVAILABLE', 'begun')],
  [12, refuse('UNAVAILABLE', 'while')],
  [12, refuse('DEADLINE_EXCEEDED', 'begun')],
  [6, refuse('ABORTED', 'begun')],
  [4, refuse('INTERNAL', 'begun')],
  [4, refuse('UNKNOWN', 'before')],
  [2, refuse('PERMISSION_DENIED')],
  [1, refuse('INVALID_ARGUMENT')],
  [2, refuse('NOT_FOUND')],
  [3, lose('hang-up', 'after')],
  [3, lose('cut', 'after')],
  [3, lose('clean-end', 'after')],
  [3, refuse('UNAVAILABLE', 'after')],
  [2, () => ({ happens: 'kernel-replaced' })],
];

/** The runtime goes when a session is wanted on it: rarely, for it takes all sessions along. */
const SESSION_OPENING: Weighted = [...SAFE_CALL, [3, () => ({ happens: 'runtime-vanished' })]];

/** Before a handshake there is nothing that could expire. */
const HANDSHAKE: Weighted = [
  [6, lose('hang-up', 'before')],
  [6, lose('hang-up', 'after')],
  [6, () => ({ refuse: 'UNAVAILABLE', shape: 'http' })],
  [6, () => ({ refuse: 'RESOURCE_EXHAUSTED', shape: 'http' })],
];

const CANCELLATION: Weighted = [[1, lose('hang-up', 'before')]];

const UUID = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

/**
 * Faults on a share of all calls. Which fault strikes a call depends on the seed, on what the call asks for and on how
 * often it was made, so that a script meets the same faults whatever runs beside it.
 */
export function seededFaults(
  seed: number,
  share: number,
): (call: PassingCall) => Fault | undefined {
  const made = new Map<string, number>();
  return ({ tool, args }) => {
    const key = `${tool} ${JSON.stringify(args).replaceAll(UUID, '')}`;
    const time = (made.get(key) ?? 0) + 1;
    made.set(key, time);
    const random = seededRandom(`${seed} ${time} ${key}`);
    if (random() >= share) return undefined;
    const make = pick(faultsFor(tool), random);
    const shape = SHAPES[Math.floor(random() * SHAPES.length)] ?? 'http';
    return make?.(shape, random);
  };
}

function faultsFor(tool: string): Weighted {
  switch (tool) {
    case 'execute_code':
      return SCRIPT;
    case 'create_session':
      return SESSION_OPENING;
    case 'initialize':
      return HANDSHAKE;
    case 'notifications/initialized':
      return [];
    case 'notifications/cancelled':
      return CANCELLATION;
    default:
      return SAFE_CALL;
  }
}

function pick(weighted: Weighted, random: () => number): Maker | undefined {
  let rest = random() * weighted.reduce((sum, [weight]) => sum + weight, 0);
  return weighted.find(([weight]) => (rest -= weight) < 0)?.[1];
}
