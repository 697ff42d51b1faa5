import { integer, milliseconds } from '@quotadb/http';
import { MAX_CELL_KEY_BYTES, MAX_START_MS, MAX_WINDOW_MS } from '@quotadb/rate';
import { z } from 'zod';

/** The forms of what comes in and goes out; the OpenAPI document is made from them. */
const HIGHEST_AMOUNT = 2n ** 63n - 1n;

/** The key in its path segment, as the bytes it is kept by. */
export const keyParameter = z.object({
  key: z
    .string()
    .min(1)
    .transform((key) => Buffer.from(key))
    .refine(({ length }) => length <= MAX_CELL_KEY_BYTES),
});

export const noQuery = z.strictObject({});

const windowMs = milliseconds(1, MAX_WINDOW_MS).describe('The length of the window.');
const startMs = z
  .int()
  .min(0)
  .max(MAX_START_MS)
  .describe('The start of the window, milliseconds since 1970. Without one, it is the window that the server is in.');

export const incrementBody = z
  .strictObject({ windowMs, amount: integer(0n, HIGHEST_AMOUNT).default(1), startMs: startMs.optional() })
  .meta({ id: 'Increment' });

export const windowQuery = z.strictObject({ windowMs, startMs: startMs.optional() });

export const windowCount = z
  .object({ key: z.string(), count: integer(0n, HIGHEST_AMOUNT), startMs, endMs: z.int().min(1) })
  .meta({ id: 'WindowCount' });

const limit = z.int().min(0).describe('The most that may be counted in any window of this length.');
const cost = z.int().min(0).default(1).describe('The share of the limit that the request takes.');
const publishPercent = z
  .int()
  .min(0)
  .max(100)
  .describe('At which part of the limit counts are published to other regions. Without one, the server’s own.');

/** What a request is counted against, in a body or in a query. */
export const rateRequest = z
  .strictObject({ limit, windowMs, cost, publishPercent: publishPercent.optional() })
  .meta({ id: 'RateRequest' });

export const rateDecision = z
  .object({
    key: z.string(),
    allowed: z.boolean(),
    limit,
    remaining: z.int().min(0),
    resetMs: z.int().min(0).describe('Until the current window ends.'),
    retryAfterMs: z.int().min(-1).describe('After how long to try again; -1 where it is no use.'),
  })
  .meta({ id: 'RateDecision' });
