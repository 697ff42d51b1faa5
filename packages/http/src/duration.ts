import { DURATION_EXAMPLES, formatDuration, parseDuration } from '@quotadb/wire';
import { z } from 'zod';

const DIGITS = /^\d{1,16}$/;
const READABLE = /^(?:\d+[a-z]+){1,2}$/;

/**
 * The schema of a span of time in a body or a query: a number of milliseconds, or a text such as "60s". The operation
 * gets milliseconds.
 */
export function milliseconds(lowest: number, highest: number) {
  return z
    .custom<number | string>(
      (value) => {
        const read = readMilliseconds(value);
        return read !== undefined && read >= lowest && read <= highest;
      },
      `must be ${describe(lowest)} to ${describe(highest)}: a number of milliseconds, or a ` +
        `text such as ${DURATION_EXAMPLES}`,
    )
    .transform((value) => readMilliseconds(value) as number)
    .meta({
      anyOf: [
        { type: 'integer', minimum: lowest, maximum: highest },
        { type: 'string', examples: ['250ms', '60s', '1h30m'] },
      ],
    });
}

/** In a query a number is a text of digits. */
function readMilliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  return DIGITS.test(value) ? Number(value) : parseDuration(value);
}

/** A duration of many parts says less than its number does. */
function describe(durationMs: number): string {
  const text = formatDuration(durationMs);
  return durationMs === 0 ? '0' : READABLE.test(text) ? `${durationMs} (${text})` : String(durationMs);
}
