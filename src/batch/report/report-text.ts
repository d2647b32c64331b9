import { accuracyOf } from '../batch-summary.js';

/** Such as `84.3 %`; `–` where there is nothing to tell. */
export function percent(share: number | undefined, digits = 1): string {
  return share === undefined ? '–' : `${(share * 100).toFixed(digits)} %`;
}

/** Such as `84.3 % (82.2 to 86.2)`, the 95 % interval. */
export function accuracyText(counts: { correct: number; wrong: number }): string {
  const accuracy = accuracyOf(counts);
  if (accuracy === null) return '–';
  const [low, high] = [accuracy.low, accuracy.high].map((share) => (share * 100).toFixed(1));
  return `${percent(accuracy.value)} (${low ?? ''} to ${high ?? ''})`;
}

export function count(number: number): string {
  return number.toLocaleString('en-US');
}

/** Three digits that matter. */
export function short(number: number): string {
  if (number === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number))));
  return number.toLocaleString('en-US', { maximumFractionDigits: Math.min(3, digits) });
}

/** Such as `12.3 s`, `4 min 5 s`, `2 h 3 min`. */
export function secondsText(seconds: number): string {
  if (seconds < 60) return `${short(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${count(Math.floor(whole / 3600))} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** Whatever it is, as one short line. */
export function valueText(value: unknown, limit = 200): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  const line = text
    .slice(0, limit * 2)
    .replaceAll(/\s+/g, ' ')
    .trim();
  const cut = /^.*/u.exec(line.slice(0, limit))?.[0] ?? '';
  return text.trim().length > cut.length ? `${cut}…` : cut;
}
