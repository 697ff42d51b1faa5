import { bytes, count, milliseconds } from './format.js';

/** The unit of a chart: how its values are written, and which steps of its axis are round. */
export interface Unit {
  readonly format: (value: number) => string;
  readonly isRound: (step: number) => number;
  /** The height of a chart on which nothing happens. */
  readonly least: number;
}

/** The next of 1, 2, 5, 10, 20 … */
function decimalStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5, 10].find((one) => one * power >= step * 0.999) ?? 10);
}

const TIMES_MS = [60, 120, 300, 600, 1800, 3600, 7200, 14_400, 28_800, 86_400].map((seconds) => seconds * 1000);

function timeStep(step: number): number {
  if (step <= 10_000) return decimalStep(step);
  if (step <= 30_000) return step <= 15_000 ? 15_000 : 30_000;
  return TIMES_MS.find((one) => one >= step) ?? Math.ceil(step / 86_400_000) * 86_400_000;
}

export const COUNTS: Unit = { format: count, isRound: decimalStep, least: 1 };
export const BYTES: Unit = { format: bytes, isRound: (step) => 2 ** Math.ceil(Math.log2(step)), least: 1024 };
export const MILLISECONDS: Unit = { format: milliseconds, isRound: timeStep, least: 1 };
export const MICROSECONDS: Unit = {
  format: (value) => milliseconds(value / 1000),
  isRound: (step) => timeStep(step / 1000) * 1000,
  least: 10,
};
/** Values of keys: whole, and every digit counts. */
export const WHOLE: Unit = {
  format: (value) => Math.round(value).toLocaleString('en'),
  isRound: (step) => Math.max(1, decimalStep(step)),
  least: 1,
};

export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
}

const TICKS = 4;

/** From one round value to another, so that no line and no label is cut off, with at most six ticks. */
export function scaleFor(unit: Unit, low: number, high: number, isFromZero: boolean): Scale {
  const from = isFromZero ? Math.min(0, low) : low;
  const to = Math.max(high, from + unit.least);
  const step = unit.isRound((to - from) / TICKS);
  const first = Math.floor(from / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(to / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return { low: ticks[0], high: ticks[ticks.length - 1], ticks };
}

/** Each label once: where the usual form makes two ticks the same, they are written out. */
export function labelsFor(unit: Unit, ticks: readonly number[]): string[] {
  const labels = ticks.map((tick) => (tick === 0 ? '0' : trim(unit.format(tick))));
  if (new Set(labels).size === labels.length) return labels;
  return ticks.map((tick) => tick.toLocaleString('en', { maximumFractionDigits: 6 }));
}

/** 64.00M is 64M on an axis. */
function trim(label: string): string {
  return label.replace(/(\.\d*?)0+(?=[BKMGT]|$)/, '$1').replace(/\.(?=[BKMGT]|$)/, '');
}

/** The places of values that have none beside them: no line reaches these. */
export function alone(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (index: number) => values[index] !== null && values[index] !== undefined;
  return Array.from(values, (_, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}
