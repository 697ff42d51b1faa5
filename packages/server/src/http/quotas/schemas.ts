import { milliseconds } from '@quotadb/http';
import {
  MAXIMUM_ITEMS,
  MAXIMUM_LEASE_MS,
  MAXIMUM_LIMIT,
  MAXIMUM_RESERVATION_MS,
  MAXIMUM_WAIT_MS,
  MAXIMUM_WINDOW_MS,
} from '@quotadb/quota';
import { z } from 'zod';

/** The forms of what comes in and goes out; the OpenAPI document is made from them. */
export const subject = z
  .string()
  .max(1024)
  .transform((text) => Uint8Array.from(Buffer.from(text)));
const tokens = z.int().min(1).max(MAXIMUM_LIMIT);
const cost = tokens.default(1);
const waitMs = milliseconds(0, MAXIMUM_WAIT_MS).optional();
/** A repetition with the same id is free and gets the first answer. */
const id = z.string().min(1).max(128).optional();

export const takeBody = z.strictObject({ subject, cost, waitMs, id });
export const takeAllBody = z.strictObject({
  items: z
    .array(z.strictObject({ name: z.string().min(1), subject, cost }))
    .min(1)
    .max(MAXIMUM_ITEMS),
  waitMs,
  id,
});
export const reserveBody = z.strictObject({
  subject,
  estimate: tokens,
  ttlMs: milliseconds(1, MAXIMUM_RESERVATION_MS),
  waitMs,
  /** What becomes of its tokens if it is not settled in time: they come back, unless they are to count as used. */
  lapse: z.enum(['refund', 'charge']).optional(),
  id,
});
const leaseTtlMs = milliseconds(1, MAXIMUM_LEASE_MS);
export const acquireBody = z.strictObject({ subject, ttlMs: leaseTtlMs, waitMs, id });
export const renewBody = z.strictObject({ ttlMs: leaseTtlMs, waitMs });
export const commitBody = z.strictObject({ actual: z.int().min(0).max(MAXIMUM_LIMIT) });
const share = z.strictObject({ region: z.string().min(1), fraction: z.number().gt(0).max(1) });
export const defineBody = z
  .strictObject({
    limit: z.int().min(0).max(MAXIMUM_LIMIT),
    /** Null: the limit holds for ever. */
    windowMs: milliseconds(1, MAXIMUM_WINDOW_MS).nullable().optional(),
    /** In place of a window: the limit is on leases held at once, each of this length at most. */
    leaseMs: leaseTtlMs.optional(),
    allocator: z.string().min(1).optional(),
    shares: z.array(share).optional(),
    waitMs,
  })
  .refine(({ windowMs, leaseMs }) => (windowMs === undefined) !== (leaseMs === undefined), {
    message: 'give either windowMs or leaseMs',
  });

export const count = z.int().min(0);
/** How a quota stands after a request. */
export const standing = {
  /** The subject's own, where it has one. */
  limit: count,
  remainingHere: count,
  remainingEverywhere: count,
  resetMs: z.int(),
  retryAfterMs: z.int(),
};

/** A quota as it was defined, in the fields of its definition, and its state; with a subject, that of one allotment. */
export const quotaDescription = z.looseObject({
  name: z.string(),
  limit: count,
  windowMs: count,
  leaseMs: count,
  allocator: z.string(),
  shares: z.array(share),
  waitMs: count,
  home: z.string(),
  startsHere: z.boolean(),
});
