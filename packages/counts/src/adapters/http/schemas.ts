import { z } from 'zod';
import { INT64_MAX, INT64_MIN } from '../../domain/int64.js';
import { ITEM_ID_MAX_LENGTH, ITEM_ID_PATTERN, isItemId } from '../../domain/item-id.js';

/**
 * The forms of everything that comes in and goes out. The same schemas check requests and make the OpenAPI document.
 *
 * An integer may be written as a JSON number of any length or as a string of digits; see exact-json.ts for why both exist.
 */
type WrittenInteger = number | bigint | string;

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

const amount = integer(0n, INT64_MAX).default(1);
const value = integer(INT64_MIN, INT64_MAX);

export const itemIdSchema = z
  .string()
  .min(1)
  .max(ITEM_ID_MAX_LENGTH)
  .regex(new RegExp(ITEM_ID_PATTERN))
  .refine(isItemId)
  .describe('The name of a count.');

export const amountBody = z.strictObject({ amount }).meta({ id: 'Amount' });
export const emptyBody = z.strictObject({}).meta({ id: 'Empty' });
export const initializeBody = z
  .strictObject({ itemId: itemIdSchema, initialValue: value.default(0) })
  .meta({ id: 'NewCount' });
export const updateBody = z.strictObject({ value }).meta({ id: 'NewValue' });

export const changedCount = z.object({ itemId: itemIdSchema, value }).meta({ id: 'ChangedCount' });
export const countValue = z
  .object({ itemId: itemIdSchema, currentValue: value, lastUpdatedAt: z.iso.datetime() })
  .meta({ id: 'CountValue' });
export const countValues = z.array(countValue);

export const problemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    code: z.string().describe('Stable; programs may rely on it.'),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });
