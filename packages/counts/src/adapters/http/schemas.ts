import { integer } from '@quotadb/http';
import { z } from 'zod';
import { INT64_MAX, INT64_MIN } from '../../domain/int64.js';
import { ITEM_ID_MAX_LENGTH, ITEM_ID_PATTERN, isItemId } from '../../domain/item-id.js';

/**
 * The forms of everything that comes in and goes out. The same schemas check requests and make the OpenAPI document.
 */

/** A URL of this many ids is about as long as HTTP servers and proxies let through. */
const MAX_ITEM_IDS = 1_000;
/** As many ids of the greatest length, in characters of four bytes. */
export const MAX_QUERY_BYTES = MAX_ITEM_IDS * (4 * ITEM_ID_MAX_LENGTH + 4);

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function isIdempotencyKey(text: string): boolean {
  return IDEMPOTENCY_KEY.test(text);
}

const amount = integer(0n, INT64_MAX).default(1);
const value = integer(INT64_MIN, INT64_MAX);

const itemId = z
  .string()
  .min(1)
  .max(ITEM_ID_MAX_LENGTH)
  .regex(new RegExp(ITEM_ID_PATTERN))
  .refine(isItemId)
  .describe('The name of a count.');

export const itemIdParameter = z.object({ itemId });
export const noQuery = z.strictObject({});
const itemIds = z.array(itemId).min(1).max(MAX_ITEM_IDS);
export const itemIdsQuery = z.strictObject({
  itemIds: itemIds.describe('Repeated for each count. `itemIds[]` means the same. The whole address may have 64 KiB.'),
});
export const idempotencyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .regex(IDEMPOTENCY_KEY)
    .optional()
    .describe(
      'A request repeated with its key happens once and gets the first answer; remembered for 24 hours unless ' +
        'configured otherwise.',
    ),
});

export const amountBody = z.strictObject({ amount }).meta({ id: 'Amount' });
export const emptyBody = z.strictObject({}).meta({ id: 'Empty' });
export const initializeBody = z.strictObject({ itemId, initialValue: value.default(0) }).meta({ id: 'NewCount' });
export const queryBody = z.strictObject({ itemIds }).meta({ id: 'ItemIds' });
export const updateBody = z.strictObject({ value }).meta({ id: 'NewValue' });

export const changedCount = z.object({ itemId, value }).meta({ id: 'ChangedCount' });
export const countValue = z
  .object({ itemId, currentValue: value, lastUpdatedAt: z.iso.datetime() })
  .meta({ id: 'CountValue' });
export const countValues = z.array(countValue);
