import type { Import, SourceFiles } from './source-graph.js';

interface Room {
  /** A file, or a folder with a final `/`, under `src/`; the longest that fits is a file's room. */
  place: string;
  /** Rooms, or single files, it may import from beside itself. */
  imports: readonly string[];
  /** Of these only types. */
  importsTypesOf?: readonly string[];
}

const base = [
  ...['errors.ts', 'abort.ts', 'retry.ts', 'logger.ts'],
  ...[
    'safe-url.ts',
    'patient-fetch.ts',
    'loopback-fetch.ts',
    'state-folder.ts',
    'replace-file.ts',
    'package-version.ts',
  ],
];
const sandboxPort = ['sandbox/sandbox.ts', 'sandbox/execution.ts', 'sandbox/session-pool.ts'];
/** Only solver.ts and cli/ list these; everything else knows the ports. */
const implementations = [
  'agent/gemini-model.ts',
  'agent/replay-model.ts',
  'sandbox/colab/',
  'sandbox/local/',
];

/** Which way imports run: cli → batch → transcript → agent → parts → sandbox/execution.ts. */
export const rooms: readonly Room[] = [
  { place: 'errors.ts', imports: [] },
  { place: 'abort.ts', imports: ['errors.ts'] },
  { place: 'retry.ts', imports: ['errors.ts', 'abort.ts'] },
  { place: 'logger.ts', imports: ['errors.ts', 'abort.ts'] },
  { place: 'safe-url.ts', imports: ['errors.ts'] },
  { place: 'patient-fetch.ts', imports: ['errors.ts', 'safe-url.ts'] },
  { place: 'loopback-fetch.ts', imports: ['abort.ts'] },
  { place: 'state-folder.ts', imports: [] },
  { place: 'replace-file.ts', imports: [] },
  { place: 'package-version.ts', imports: [] },
  { place: 'config.ts', imports: base },
  { place: 'parts/', imports: ['errors.ts'], importsTypesOf: ['sandbox/execution.ts'] },
  { place: 'sandbox/', imports: base },
  { place: 'sandbox/colab/', imports: [...base, 'sandbox/'] },
  { place: 'sandbox/local/', imports: [...base, 'sandbox/', 'sandbox/colab/'] },
  { place: 'agent/', imports: [...base, 'parts/', ...sandboxPort], importsTypesOf: ['config.ts'] },
  { place: 'agent/gemini-model.ts', imports: [...base, 'agent/', 'parts/'] },
  { place: 'agent/replay-model.ts', imports: [...base, 'agent/', 'parts/'] },
  { place: 'transcript/', imports: [...base, 'agent/', 'parts/'] },
  {
    place: 'batch/',
    imports: [
      ...base,
      'transcript/',
      'agent/',
      'parts/',
      ...sandboxPort,
      'sandbox/process-identity.ts',
    ],
  },
  {
    place: 'solver.ts',
    imports: [
      ...base,
      ...['config.ts', 'transcript/', 'agent/', 'batch/', 'parts/', 'sandbox/'],
      ...implementations,
    ],
  },
  {
    place: 'index.ts',
    imports: [...base, 'config.ts', 'solver.ts', 'agent/', 'batch/', 'parts/', 'sandbox/'],
  },
  {
    place: 'cli/',
    imports: [
      ...base,
      ...['config.ts', 'solver.ts', 'transcript/', 'agent/', 'batch/', 'parts/', 'sandbox/'],
      ...implementations,
    ],
  },
];

/** Where each package may be named, under `src/`. */
export const vendorPlaces: Readonly<Record<string, readonly string[]>> = {
  '@google/genai': ['agent/gemini-model.ts', 'parts/genai.ts'],
  '@modelcontextprotocol/sdk': ['sandbox/colab/', 'sandbox/local/'],
  '@lezer/highlight': ['transcript/', 'cli/render/'],
  '@lezer/python': ['transcript/', 'cli/render/'],
  commander: ['cli/'],
  'complex.js': ['batch/graders/math/'],
  'csv-parse': ['batch/data-records.ts'],
  'fraction.js': ['batch/graders/'],
  'google-auth-library': ['sandbox/colab/'],
  'js-quantities': ['batch/graders/unit.ts'],
  'markdown-it': ['transcript/', 'cli/render/'],
  'p-queue': ['sandbox/session-pool.ts', 'batch/'],
  pino: ['logger.ts'],
  undici: ['patient-fetch.ts'],
  ws: ['sandbox/local/'],
  zod: ['config.ts', 'parts/', 'sandbox/', 'agent/', 'batch/', 'solver.ts', 'cli/'],
};

/** Imports between files of ours that run against the arrows, each as a sentence. */
export function brokenArrows(imports: readonly Import[]): string[] {
  return imports.flatMap(({ from, to, typeOnly }) => {
    if (!from.startsWith('src/') || !to.startsWith('src/')) return [];
    const room = roomOf(from);
    if (room === undefined) return [`${from} stands in no room`];
    const target = roomOf(to);
    const reaches = (places: readonly string[] = []): boolean =>
      places.some((place) => place === target?.place || `src/${place}` === to);
    if (target === room || reaches(room.imports)) return [];
    if (typeOnly && reaches(room.importsTypesOf)) return [];
    return [`${from} imports ${typeOnly ? 'a type of ' : ''}${to}`];
  });
}

function roomOf(path: string): Room | undefined {
  return rooms
    .filter(({ place }) => isWithin(path, place))
    .sort((a, b) => b.place.length - a.place.length)[0];
}

function isWithin(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(`src/${place}`) : path === `src/${place}`;
}

/** Packages named in `src/` outside their places, or that have none. */
export function strayVendors(imports: readonly Import[]): string[] {
  return imports
    .filter(({ from, to }) => from.startsWith('src/') && !to.startsWith('src/'))
    .filter(({ to }) => !to.startsWith('node:'))
    .filter(({ from, to }) => !(vendorPlaces[to] ?? []).some((place) => isWithin(from, place)))
    .map(({ from, to }) => `${from} names ${to}`);
}

/** Files and folders whose name says nothing. */
export function emptilyNamed(paths: Iterable<string>): string[] {
  const emptyName = /^(?:utils?|commons?|types?|core|libs?|helpers?|misc|shared)$/;
  return [...paths].filter((path) =>
    path.split('/').some((segment) => emptyName.test(segment.replace(/\..*$/, ''))),
  );
}

/** Lines with a path of one machine or the address of a registry. */
export function machineTraces(files: SourceFiles): string[] {
  const trace =
    /(?<![\w.$}-])\/(?:work|root|farm)\/[\w.]|\/(?:home|Users)\/(?!user\b|you\b|[a-z]\b)[a-z][\w-]*\/|registry\.npmjs|registry\.yarnpkg|pypi\.org|pythonhosted\.org/;
  return [...files].flatMap(([path, text]) =>
    text
      .split('\n')
      .flatMap((line, index) => (trace.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  );
}
