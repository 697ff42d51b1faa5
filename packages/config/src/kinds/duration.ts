import { DURATION_EXAMPLES, formatDuration, parseDuration } from '@quotadb/wire';
import type { Kind } from './kinds.js';
import { Mistake } from './mistake.js';

/** The unit that a setting counts in: a number without a unit has it, and CONFIG GET prints it. */
const UNITS_MICROSECONDS = {
  hours: 3_600_000_000,
  seconds: 1_000_000,
  milliseconds: 1000,
  microseconds: 1,
} as const;

/** As durations are written, which have no unit below a millisecond. */
const SHORT = { hours: 'h', seconds: 's', milliseconds: 'ms' } as const;

type Unit = keyof typeof UNITS_MICROSECONDS;

/** Past this many parts, such as 3550w5d3h14m7s, a duration is shown as a number of its unit. */
const READABLE = /^(?:\d+[a-z]+){1,2}$/;

/** A duration as people write it, `90s` or `5m`, or a bare number of its unit; -1 only where the minimum is. */
export function duration(unit: Unit, minimum: number, maximum: number): Kind<number> {
  const range = `${show(Math.max(minimum, 0), unit)} to ${show(maximum, unit)}${minimum < 0 ? `, or ${minimum}` : ''}`;
  return {
    placeholder: 'duration',
    range: `${range}; a bare number is ${unit}`,
    parse(text) {
      const value = /^-?\d{1,16}$/.test(text.trim()) ? Number(text) : fromDuration(text.trim(), unit);
      if (!Number.isInteger(value) || value < minimum || value > maximum)
        throw new Mistake(`must be a duration, ${range}, such as ${DURATION_EXAMPLES}; a bare number is ${unit}`, text);
      return value;
    },
    print: String,
    show: (value) => show(value, unit),
  };
}

function fromDuration(text: string, unit: Unit): number {
  const milliseconds = parseDuration(text);
  return milliseconds === undefined ? Number.NaN : (milliseconds * 1000) / UNITS_MICROSECONDS[unit];
}

function show(value: number, unit: Unit): string {
  const milliseconds = (value * UNITS_MICROSECONDS[unit]) / 1000;
  if (value < 0) return String(value);
  const text = Number.isInteger(milliseconds) ? formatDuration(milliseconds) : '';
  if (READABLE.test(text)) return text;
  return unit === 'microseconds' ? `${value} ${unit}` : `${value}${SHORT[unit]}`;
}
