import { milliseconds } from '@quotadb/http';
import { MAXIMUM_LIMIT, MAXIMUM_SUBJECT_BYTES, MAXIMUM_WAIT_MS } from '@quotadb/quota';
import { z } from 'zod';

/** The forms of what comes in and goes out; the OpenAPI document is made from them. */
const subject = z
  .string()
  .transform((text) => Uint8Array.from(Buffer.from(text)))
  .refine(({ length }) => length <= MAXIMUM_SUBJECT_BYTES);

const lease = z.string().min(1).max(128);

export const releaseBody = z
  .strictObject({ name: z.string().min(1), subject, lease: lease.describe('As in the check that took them.') })
  .meta({ id: 'LimitRelease' });

export const checkBody = z
  .strictObject({
    name: z.string().min(1).describe('The name of a limit, or of a domain: all of its limits are checked.'),
    subject: subject.describe('Who the request is counted for.'),
    cost: z.int().min(0).max(MAXIMUM_LIMIT).default(1),
    waitMs: milliseconds(0, MAXIMUM_WAIT_MS)
      .optional()
      .describe('How long to wait for tokens of other regions; as the limits say where it is left out.'),
    lease: lease.optional().describe('The name of the leases that are taken, where there are limits on concurrency.'),
    peek: z.boolean().default(false).describe('Decides and charges nothing.'),
  })
  .meta({ id: 'LimitCheck' });

const standing = {
  allowed: z.boolean(),
  limit: z.int().min(-1).describe('-1: unlimited.'),
  remaining: z.int().min(-1).describe('What may still be admitted, as far as this region knows; -1: unlimited.'),
  resetMs: z.int().min(-1).describe('Until the window ends or the bucket is full; -1: never.'),
  retryAfterMs: z.int().min(-1).describe('0 where the request was allowed, -1 where it never will be.'),
};

export const decision = z
  .object({
    ...standing,
    deniedBy: z.string().nullable().describe('The limit that denied; null where none did.'),
    limits: z
      .array(z.object({ name: z.string(), ...standing, shadow: z.boolean() }))
      .describe('Every limit that was checked, parents and limits in shadow too.'),
  })
  .meta({ id: 'LimitDecision' });

/** All mistakes are found at once, by the catalogue's own rules: docs/limits.md has its form. */
export const catalogueBody = z.looseObject({ limits: z.array(z.unknown()) }).meta({ id: 'Catalogue' });
export const limitBody = z.looseObject({}).meta({ id: 'Limit' });

export const nameParameter = z.object({ name: z.string().min(1) });
export const subjectParameter = z.object({ name: z.string().min(1), subject });
/** A repetition with the same id changes nothing and gets the first answer. */
const id = z.string().min(1).max(128).optional();
export const amountBody = z.strictObject({ amount: z.int().min(1).max(MAXIMUM_LIMIT), id });
export const resetBody = z.strictObject({ id });
export const pageQuery = z.strictObject({
  cursor: z
    .string()
    .regex(/^\d{1,20}$/)
    .default('0')
    .describe('0, or the cursor of the page before.'),
  count: z.int().min(1).max(1000).default(100),
});
