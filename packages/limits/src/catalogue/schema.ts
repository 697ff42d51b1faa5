import { MAXIMUM_LIMIT, MAXIMUM_SUBJECT_BYTES } from '@quotadb/quota';
import { z } from 'zod';
import { MAXIMUM_NAME_BYTES } from '../decision/identifiers.js';

export const MAXIMUM_LIMITS = 1000;
const MAXIMUM_PLANS = 1000;
/** Of a limit or a plan. */
export const MAXIMUM_SUBJECTS = 10_000;
/** In the flat overrides of a limit this number stands for no limit, so no limit is as high. */
export const UNLIMITED = MAXIMUM_LIMIT;

const isNamed = (text: string) => /^[^\p{Cc}]+$/u.test(text) && Buffer.byteLength(text) <= MAXIMUM_NAME_BYTES;
const name = z.string().refine(isNamed, {
  error: `a name has 1 to ${MAXIMUM_NAME_BYTES} bytes and no control characters`,
});

/** Names that are numbers have no order in JSON, and plans have one. */
const planName = name.refine((text) => !/^\d+$/.test(text), { error: 'the name of a plan is no number' });

const subject = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= MAXIMUM_SUBJECT_BYTES, {
    error: `a subject has at most ${MAXIMUM_SUBJECT_BYTES} bytes`,
  })
  .refine((text) => !text.slice(0, -1).includes('*'), {
    error: 'a * stands at the end of a pattern, and nowhere else',
  });

const AMOUNT = { error: `a limit is a whole number from 0 to ${UNLIMITED - 1}, or unlimited` };
const number = z
  .int(AMOUNT)
  .min(0, AMOUNT)
  .max(UNLIMITED - 1, AMOUNT);
const amount = z.union([number, z.literal('unlimited')], AMOUNT);

/** Read by `windowOf`, which finds the mistakes in one. */
const duration = z.union([z.string(), z.number()]);
const moment = z.iso.datetime({ offset: true, error: 'a time is written like 2026-01-01T00:00:00Z' });
const FRACTION = { error: 'a part of the limit is a number above 0 and at most 1' };
const fraction = z.number(FRACTION).gt(0, FRACTION).max(1, FRACTION);

const KINDS = ['exact', 'sliding', 'fixed', 'bucket', 'concurrency'] as const;

const override = z.strictObject({
  subject: subject.optional(),
  plan: name.optional(),
  limit: amount,
  from: z.enum(['now', 'next-window']).optional(),
  /** Set when a limit is loaded, of an override that begins with the next window. */
  fromMs: z.int().min(0).optional(),
});

const whenUnreachable = z.union(
  [z.literal('deny'), z.strictObject({ wait: duration.optional(), admit: fraction.optional() })],
  { error: 'this is deny, { wait: 500ms }, or { admit: 0.1 }: a part of the limit above 0 and at most 1' },
);

export const limitSchema = z.strictObject({
  name,
  description: z.string().max(1024).optional(),
  domain: name.optional(),
  kind: z.enum(KINDS, { error: `a kind is one of ${KINDS.join(', ')}` }),
  limit: amount,
  window: duration.optional(),
  timeZone: z.string().optional(),
  anchorDay: z.int().min(1).max(31).optional(),
  burst: z.int().min(1).max(MAXIMUM_LIMIT).optional(),
  hold: duration.optional(),
  parent: name.optional(),
  overrides: z.array(override).max(MAXIMUM_SUBJECTS).optional(),
  shadow: z.boolean().optional(),
  enabled: z.boolean().optional(),
  starts: moment.optional(),
  ends: moment.optional(),
  whenUnreachable: whenUnreachable.optional(),
  /** Kinds exact and concurrency: the region that has the tokens at first; the home where it is left out. */
  allocator: z.string().min(1).max(32).optional(),
  /** The parts of the limit that other regions have at first. */
  shares: z.record(z.string().min(1).max(32), fraction).optional(),
  /** Set when a limit is loaded: its overrides by subject, with those that hold until the next window. */
  settled: z
    .array(z.strictObject({ subject, limit: z.int().min(0).max(UNLIMITED), fromMs: z.int().min(0).optional() }))
    .max(2 * MAXIMUM_SUBJECTS)
    .optional(),
});

export const catalogueSchema = z.strictObject({
  plans: z
    .record(planName, z.strictObject({ subjects: z.array(subject).max(MAXIMUM_SUBJECTS) }))
    .refine((plans) => Object.keys(plans).length <= MAXIMUM_PLANS, {
      error: `there are at most ${MAXIMUM_PLANS} plans`,
    })
    .optional(),
  limits: z.array(limitSchema).max(MAXIMUM_LIMITS, { error: `there are at most ${MAXIMUM_LIMITS} limits` }),
});

/** A limit as it is written, in YAML, in JSON and in the store. */
export type LimitEntry = z.infer<typeof limitSchema>;
export type OverrideEntry = z.infer<typeof override>;
/** All limits of a cluster, as they are written. */
export type Catalogue = z.infer<typeof catalogueSchema>;

export const EMPTY_CATALOGUE: Catalogue = { limits: [] };
