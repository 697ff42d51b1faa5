/**
 * A span of time as people write it: whole numbers, each with a unit, the largest unit first and none twice.
 *
 *   250ms   60s   5m   1h30m   1d   2w
 *
 * A number without a unit is no duration: each caller decides what one means there, or refuses it.
 */
const UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** For messages: what a duration looks like. */
export const DURATION_EXAMPLES = '250ms, 60s, 5m, 1h30m, 1d or 2w';

const PART = /^(\d{1,15})(ms|[wdhms])/;

/** Milliseconds; undefined where the text is no duration, or one that a double cannot hold exactly. */
export function parseDuration(text: string): number | undefined {
  let rest = text.toLowerCase();
  let totalMs = 0;
  let next = 0;
  while (rest !== '') {
    const part = PART.exec(rest);
    if (part === null) return undefined;
    const [whole, amount, name] = part;
    const at = UNITS.findIndex(([unit]) => unit === name);
    if (at < next) return undefined;
    next = at + 1;
    totalMs += Number(amount) * UNITS[at][1];
    rest = rest.slice(whole.length);
  }
  return text !== '' && Number.isSafeInteger(totalMs) ? totalMs : undefined;
}

/** The shortest text that parseDuration reads as these milliseconds: whole, and not negative. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0s';
  let rest = milliseconds;
  let text = '';
  for (const [unit, unitMs] of UNITS) {
    const amount = Math.floor(rest / unitMs);
    rest -= amount * unitMs;
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text;
}

/** By its two largest units of days, hours, minutes and seconds. */
export function briefDuration(seconds: number): string {
  const units = UNITS.slice(1, -1).map(([unit, unitMs]) => [unit, unitMs / 1000] as const);
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0s';
  const [unit, size] = units[first];
  const smaller = units[first + 1];
  const rest = smaller === undefined ? 0 : Math.floor((seconds % size) / smaller[1]);
  return `${Math.floor(seconds / size)}${unit}${rest > 0 ? `${rest}${smaller[0]}` : ''}`;
}
