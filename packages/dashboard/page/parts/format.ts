import { briefDuration as duration } from '@quotadb/wire/text';

export { briefDuration as duration, formatDuration as span, humanBytes as bytes } from '@quotadb/wire/text';

/**
 * One form for each kind of figure, the same as in `quotadb status`: sizes as 1.50K and 64.00M (1024 bytes are 1K),
 * spans as 45s, 5m and 1h30m, numbers with a comma between thousands.
 */
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });

/** Longer numbers are read by their size, not by their digits. */
const COMPACT_FROM = 1_000_000;
/** Smaller figures are not nothing, which 0.0 would say. */
const LEAST = 0.1;

/** Figures that are measured: one decimal while they are small, none while they are short, then 1.23M. */
export function count(value: number): string {
  const size = Math.abs(value);
  if (size >= COMPACT_FROM) return compact.format(value);
  if (size > 0 && size < LEAST / 2) return `<${LEAST}`;
  return size < 10 && !Number.isInteger(value) ? tenths.format(value) : whole.format(value);
}

/** Values that people compare by their digits; a text of digits of any length stays exact. */
export function exact(value: number | string): string {
  return whole.format(typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : Number(value));
}

/** A measured time. */
export function milliseconds(value: number): string {
  if (value < 0) return 'not known';
  if (value === 0) return '0 ms';
  if (value < 0.9995) return `${digits(value * 1000)} µs`;
  if (value < 999.5) return `${digits(value)} ms`;
  return value < 10_000 ? `${digits(value / 1000)} s` : duration(value / 1000);
}

export function microseconds(value: number | null): string {
  return value === null ? '–' : milliseconds(value / 1000);
}

/** At most three digits that count, none of them a zero at the end. */
function digits(value: number): string {
  return String(Number(value.toPrecision(3)));
}

export function percent(part: number, of: number): string {
  return of === 0 ? '–' : `${tenths.format((100 * part) / of)} %`;
}

export function clock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString('en-GB');
}

const DAY_MS = 86_400_000;

/** The time of today, or the day and the time, both of the reader's time zone. */
export function moment(atMs: number, nowMs: number): string {
  const isToday = nowMs - atMs < DAY_MS && new Date(atMs).getDate() === new Date(nowMs).getDate();
  return isToday ? clock(atMs) : `${new Date(atMs).toLocaleDateString('sv')} ${clock(atMs)}`;
}

/** The time that a key has left. */
export function timeLeft(expiresAtMs: number, nowMs: number): string {
  return expiresAtMs === 0 ? 'none' : duration(Math.max(0, (expiresAtMs - nowMs) / 1000));
}
