import type { User } from '@quotadb/config';
import { QUOTA_PREFIX, Refusal } from '@quotadb/envoy';
import { type Api, operationsOf, ProblemError, problems } from '@quotadb/http';
import { type Decision, type DecisionRefusal, type Item, isRefusal, MAXIMUM_ITEMS } from '@quotadb/limits';
import { MAXIMUM_SUBJECT_BYTES, MAXIMUM_WAIT_MS } from '@quotadb/quota';
import type { LaneCluster } from '@quotadb/resp';
import { z } from 'zod';
import { requireKeysHere, withKeysHere } from '../http/key-access.js';
import { limitProblems } from '../http/limits/problems.js';
import { elsewhereProblems } from '../http/problems.js';
import { refusalOf } from '../http/windows/problems.js';
import type { EnvoyLimitStore } from './limit-store.js';

/**
 * What Envoy's limits need of another group of the cluster. Each group carries these operations to the others as it
 * does those of clients, who cannot ask for these. All numbers of a limit are in the request: the group that has
 * the counter needs none of Envoy's files, but for exact limits, which are quotas, and so known to all groups.
 */
export interface CarriedContext {
  readonly store: EnvoyLimitStore;
  readonly cluster: LaneCluster | undefined;
  /** Resolves when the main thread may use the store. */
  readonly share: () => Promise<void>;
}

export const COUNT_PATH = '/envoy/count';
export const DECIDE_PATH = '/envoy/decide';

const MAXIMUM_UINT32 = 2 ** 32 - 1;
const MAXIMUM_WINDOW_MS = 366 * 86_400_000;
/** The most items, with every character of their subjects escaped. */
const MAXIMUM_BODY_BYTES = 256 * 1024;

const subject = z
  .string()
  .transform((text) => Uint8Array.from(Buffer.from(text)))
  .refine(({ length }) => length <= MAXIMUM_SUBJECT_BYTES);
const windowMs = z.int().min(1).max(MAXIMUM_WINDOW_MS);

const countBody = z.strictObject({
  counter: z.string().refine((text) => Buffer.byteLength(text) <= MAXIMUM_SUBJECT_BYTES),
  windowMs,
  amount: z.int().min(-MAXIMUM_UINT32).max(MAXIMUM_UINT32),
});

const decideBody = z.strictObject({
  items: z
    .array(
      z.strictObject({
        name: z.string().startsWith(QUOTA_PREFIX),
        kind: z.enum(['exact', 'sliding']),
        subject,
        cost: z.int().min(0).max(MAXIMUM_UINT32),
        limit: z.int().min(0).max(MAXIMUM_UINT32),
        windowMs,
        shadow: z.boolean(),
      }),
    )
    .min(1)
    .max(MAXIMUM_ITEMS),
  peek: z.boolean(),
  waitMs: z.int().min(0).max(MAXIMUM_WAIT_MS).optional(),
});

/** Null where there is no limit. */
const amount = z.int().nullable();
const standing = {
  allowed: z.boolean(),
  limit: amount,
  remaining: amount,
  resetMs: z.number(),
  retryAfterMs: z.number(),
};
const decision = z.object({
  ...standing,
  deniedBy: z.string().nullable(),
  items: z.array(z.object({ name: z.string(), shadow: z.boolean(), ...standing })),
});
export type DecisionAnswer = z.output<typeof decision>;

const operation = operationsOf<CarriedContext, User>();
const carried = { method: 'POST', roles: ['write', 'quota'] } as const;

const count = operation({
  ...carried,
  id: 'countForEnvoy',
  path: COUNT_PATH,
  summary: 'Adds to the counter of a fixed window of Envoy.',
  body: { schema: countBody, maximumBytes: MAXIMUM_BODY_BYTES },
  success: { description: 'The count.', schema: z.object({ count: z.int() }) },
  problems: [limitProblems.limit_refused, ...elsewhereProblems],
  run: async ({ store, cluster, share }, { body }, caller) => {
    requireAllKeys(caller);
    const { counter, windowMs, amount } = body;
    await share();
    await requireKeysHere(cluster, [Buffer.from(counter)]);
    try {
      const count = store.addFixed(counter, windowMs, amount);
      await store.whenDurable();
      return { count };
    } catch (error) {
      if (error instanceof Refusal) throw refused(error.message);
      throw error;
    }
  },
});

const decide = operation({
  ...carried,
  id: 'decideForEnvoy',
  path: DECIDE_PATH,
  summary: 'Decides on exact and sliding limits of Envoy, and charges all or none of them.',
  body: { schema: decideBody, maximumBytes: MAXIMUM_BODY_BYTES },
  success: { description: 'The decision.', schema: decision },
  problems: [limitProblems.limit_refused, ...elsewhereProblems],
  run: async ({ store, cluster }, { body: { items, peek: isPeek, waitMs } }, caller) => {
    requireAllKeys(caller);
    const subjects = items.map(({ subject }) => subject);
    const answer = await withKeysHere(cluster, subjects, waitMs ?? 0, () => store.decide({ items, isPeek, waitMs }));
    if (!isRefusal(answer)) return describe(answer);
    throw 'error' in answer ? refused(answer.error) : refusalOf(answer.status);
  },
});

export const carriedApi: Api<CarriedContext, User> = {
  name: 'envoy',
  title: 'QuotaDB counters of Envoy, between the groups of a cluster',
  description: 'Served to other groups, and not over HTTP.',
  documentPath: '/envoy/openapi.json',
  operations: [count, decide],
};

/** The node that Envoy has asked checks who may count in which domain. */
function requireAllKeys({ hasPrefixes }: User): void {
  if (hasPrefixes)
    throw new ProblemError(problems.forbidden, { detail: 'The user of the cluster has no key prefixes.' });
}

function refused(detail: string): ProblemError {
  return new ProblemError(limitProblems.limit_refused, { detail });
}

/** An item as the operation takes it; the names of Envoy's counters are texts. */
export function describeItem({ name, kind, subject, cost, limit, windowMs, shadow }: Item): object {
  return { name, kind, subject: Buffer.from(subject).toString(), cost, limit, windowMs, shadow };
}

function describe({ items, deniedBy, ...summary }: Decision): DecisionAnswer {
  return { ...finite(summary), deniedBy: deniedBy ?? null, items: items.map(finite) };
}

export function readDecision({ items, deniedBy, ...summary }: DecisionAnswer): Decision | DecisionRefusal {
  return { ...infinite(summary), deniedBy: deniedBy ?? undefined, items: items.map(infinite) };
}

interface Amounts<Amount> {
  readonly limit: Amount;
  readonly remaining: Amount;
}

/** JSON has no infinity. */
function finite<Given extends Amounts<number>>(
  given: Given,
): Omit<Given, keyof Amounts<number>> & Amounts<number | null> {
  const bounded = (value: number) => (value === Number.POSITIVE_INFINITY ? null : value);
  return { ...given, limit: bounded(given.limit), remaining: bounded(given.remaining) };
}

function infinite<Given extends Amounts<number | null>>(
  given: Given,
): Omit<Given, keyof Amounts<number>> & Amounts<number> {
  const { limit, remaining } = given;
  return { ...given, limit: limit ?? Number.POSITIVE_INFINITY, remaining: remaining ?? Number.POSITIVE_INFINITY };
}
