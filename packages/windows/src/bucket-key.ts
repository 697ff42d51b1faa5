import { fixedWindowAt, type Window } from './window.js';

/**
 * Keys with the time in them, for stores that know nothing of windows: `requests:{customer}:{YYYYMMDDHHmm}` with the
 * customer 42 is `requests:42:202511152359` for one minute of UTC, and another key the minute after.
 *
 *   {YYYY} {YYYYMM} {YYYYMMDD} {YYYYMMDDHH} {YYYYMMDDHHmm} {YYYYMMDDHHmmss}   the time, as fine as it is written
 *   {anything else}                                                            the value of that name
 */
export interface BucketKey {
  readonly key: string;
  /** The time that the key stands for; undefined for months and years, which differ in length, and without a time. */
  readonly window: Window | undefined;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How many digits of the time a placeholder shows, and how long that lasts. */
const FORMATS: Readonly<Record<string, { readonly digits: number; readonly durationMs: number | undefined }>> = {
  YYYY: { digits: 4, durationMs: undefined },
  YYYYMM: { digits: 6, durationMs: undefined },
  YYYYMMDD: { digits: 8, durationMs: DAY_MS },
  YYYYMMDDHH: { digits: 10, durationMs: HOUR_MS },
  YYYYMMDDHHmm: { digits: 12, durationMs: MINUTE_MS },
  YYYYMMDDHHmmss: { digits: 14, durationMs: SECOND_MS },
};

/** Four digits of a year. */
const FIRST_YEAR_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_YEAR_END_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

type Part = { readonly text: string } | { readonly name: string } | { readonly digits: number };

/** A template read once, to make keys of many times. */
export class BucketTemplate {
  readonly #parts: readonly Part[];
  readonly #durationMs: number | undefined;

  constructor(template: string) {
    const parts: Part[] = [];
    let durationMs: number | undefined;
    for (const [piece] of template.matchAll(/\{[^{}]*\}|[^{}]+|[{}]/g)) {
      if (piece === '{' || piece === '}') throw new SyntaxError(`an unpaired ${piece} in the template ${template}`);
      if (!piece.startsWith('{')) {
        parts.push({ text: piece });
        continue;
      }
      const name = piece.slice(1, -1);
      if (name === '') throw new SyntaxError(`an empty {} in the template ${template}`);
      const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
      if (format === undefined && /^YYYY/.test(name)) throw new SyntaxError(`{${name}} is no form of a time`);
      parts.push(format === undefined ? { name } : { digits: format.digits });
      if (format?.durationMs !== undefined) durationMs = Math.min(format.durationMs, durationMs ?? format.durationMs);
    }
    this.#parts = parts;
    this.#durationMs = durationMs;
  }

  at(atMs: number, values: Readonly<Record<string, string | number>> = {}): BucketKey {
    const time = utcDigits(atMs);
    const key = this.#parts.map((part) => {
      if ('text' in part) return part.text;
      if ('digits' in part) return time.slice(0, part.digits);
      const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined;
      if (value === undefined) throw new TypeError(`the template needs a value for {${part.name}}`);
      return String(value);
    });
    const window = this.#durationMs === undefined ? undefined : fixedWindowAt(atMs, this.#durationMs);
    return { key: key.join(''), window };
  }
}

/** The key of a template at an instant. */
export function bucketKey(
  template: string,
  atMs: number,
  values: Readonly<Record<string, string | number>> = {},
): string {
  return new BucketTemplate(template).at(atMs, values).key;
}

function utcDigits(atMs: number): string {
  if (!(atMs >= FIRST_YEAR_MS && atMs <= LAST_YEAR_END_MS)) {
    throw new RangeError(`a key has room for years of four digits, which ${atMs} is not in`);
  }
  return new Date(Math.floor(atMs)).toISOString().replace(/[^\d]/g, '').slice(0, 14);
}
