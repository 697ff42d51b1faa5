import { z } from 'zod';

/** An integer as a JSON number of any length, or as a string of digits; see exact-json.ts for why both exist. */
type WrittenInteger = number | bigint | string;

/** The schema of a 64-bit integer between two bounds. */
export function integer(lowest: bigint, highest: bigint) {
  const digits = lowest < 0n ? /^-?\d{1,19}$/ : /^\d{1,19}$/;
  const isWritten = (value: unknown): value is WrittenInteger =>
    typeof value === 'bigint' || Number.isSafeInteger(value) || (typeof value === 'string' && digits.test(value));
  return z
    .custom<WrittenInteger>(
      (value) => isWritten(value) && BigInt(value) >= lowest && BigInt(value) <= highest,
      `expected an integer from ${lowest} to ${highest}`,
    )
    .meta({
      anyOf: [
        { type: 'integer', format: 'int64', ...(lowest === 0n ? { minimum: 0 } : {}) },
        { type: 'string', pattern: digits.source },
      ],
    });
}
