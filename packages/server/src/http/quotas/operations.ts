import {
  MAXIMUM_ITEMS,
  MAXIMUM_LEASE_MS,
  MAXIMUM_LIMIT,
  MAXIMUM_RESERVATION_MS,
  MAXIMUM_WAIT_MS,
  MAXIMUM_WINDOW_MS,
  type Renewed,
  type Settlement,
  type Standing,
} from '@quotadb/quota';
import { z } from 'zod';
import { USUAL_WAIT_MS } from '../../quotas/define-words.js';
import type { QuotaRequest } from '../../services/lane-quotas.js';
import type { ProblemCode } from './problems.js';

/** One declaration per operation: routing, checking, asking, answering and the OpenAPI document all come from it. */
export interface QuotaOperation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `{name}`, `{reservation}` and `{lease}` are the variable segments. */
  readonly path: string;
  readonly summary: string;
  readonly body?: z.ZodType;
  /** What a refusal means here. */
  readonly refusal: ProblemCode;
  readonly request: (variable: string, body: never, query: URLSearchParams) => QuotaRequest;
  readonly answer: (value: never) => object;
}

const subject = z.string().max(1024);
const cost = z.int().min(1).max(MAXIMUM_LIMIT);
const waitMs = z.int().min(0).max(MAXIMUM_WAIT_MS).optional();
/** A repetition with the same id is free and gets the first answer. */
const id = z.string().min(1).max(128).optional();

const takeBody = z.strictObject({ subject, cost, waitMs, id });
const takeAllBody = z.strictObject({
  items: z
    .array(z.strictObject({ name: z.string().min(1), subject, cost }))
    .min(1)
    .max(MAXIMUM_ITEMS),
  waitMs,
  id,
});
const reserveBody = z.strictObject({
  subject,
  estimate: cost,
  ttlMs: z.int().min(1).max(MAXIMUM_RESERVATION_MS),
  waitMs,
  /** What becomes of it if nobody settles it in time: it comes back, unless it is to count as used. */
  lapse: z.enum(['refund', 'charge']).optional(),
  id,
});
const leaseTtlMs = z.int().min(1).max(MAXIMUM_LEASE_MS);
const acquireBody = z.strictObject({ subject, ttlMs: leaseTtlMs, waitMs, id });
const renewBody = z.strictObject({ ttlMs: leaseTtlMs, waitMs });
const commitBody = z.strictObject({ actual: z.int().min(0).max(MAXIMUM_LIMIT) });
const defineBody = z
  .strictObject({
    limit: z.int().min(0).max(MAXIMUM_LIMIT),
    /** Null: the limit holds for ever. */
    windowMs: z.int().min(1).max(MAXIMUM_WINDOW_MS).nullable().optional(),
    /** In place of a window: what is held at once is limited, and so long by a lease at most. */
    leaseMs: leaseTtlMs.optional(),
    allocator: z.string().min(1).optional(),
    shares: z.array(z.strictObject({ region: z.string().min(1), fraction: z.number().gt(0).max(1) })).optional(),
    waitMs,
  })
  .refine(({ windowMs, leaseMs }) => (windowMs === undefined) !== (leaseMs === undefined), {
    message: 'either windowMs or leaseMs',
  });

function operation<Body extends z.ZodType, Value>(
  declaration: Omit<QuotaOperation, 'request' | 'answer' | 'body'> & {
    readonly body?: Body;
    readonly request: (variable: string, body: z.output<Body>, query: URLSearchParams) => QuotaRequest;
    readonly answer: (value: Value) => object;
  },
): QuotaOperation {
  return declaration as unknown as QuotaOperation;
}

const bytes = (text: string) => Uint8Array.from(Buffer.from(text));

export const quotaOperations: readonly QuotaOperation[] = [
  operation({
    id: 'takeQuota',
    method: 'POST',
    path: '/api/v1/quotas/{name}/take',
    summary: 'Takes so much of a quota, if there is enough.',
    body: takeBody,
    refusal: 'quota_refused',
    request: (name, body) => ({
      kind: 'take',
      items: [{ name, subject: bytes(body.subject), cost: body.cost }],
      waitMs: body.waitMs,
      id: body.id,
    }),
    answer: ({ isAllowed, standings }: { isAllowed: boolean; standings: readonly Standing[] }) => ({
      allowed: isAllowed,
      ...standings[0],
    }),
  }),
  operation({
    id: 'takeAllQuotas',
    method: 'POST',
    path: '/api/v1/quotas/take-all',
    summary: 'Takes from several quotas at once, from all of them or from none.',
    body: takeAllBody,
    refusal: 'quota_refused',
    request: (_, body) => ({
      kind: 'take',
      items: body.items.map((item) => ({ ...item, subject: bytes(item.subject) })),
      waitMs: body.waitMs,
      id: body.id,
    }),
    answer: ({ isAllowed, standings }: { isAllowed: boolean; standings: readonly Standing[] }) => ({
      allowed: isAllowed,
      quotas: standings,
    }),
  }),
  operation({
    id: 'reserveQuota',
    method: 'POST',
    path: '/api/v1/quotas/{name}/reserve',
    summary:
      'Takes an estimate, to be settled when the cost is known; what is not settled in time comes back, or counts as used.',
    body: reserveBody,
    refusal: 'quota_refused',
    request: (name, body) => ({
      kind: 'reserve',
      item: { name, subject: bytes(body.subject), cost: body.estimate },
      ttlMs: body.ttlMs,
      waitMs: body.waitMs,
      lapse: body.lapse,
      id: body.id,
    }),
    answer: ({ isAllowed, id: reservation, standing }: { isAllowed: boolean; id: string; standing: Standing }) => ({
      allowed: isAllowed,
      ...(isAllowed && { reservation }),
      ...standing,
    }),
  }),
  operation({
    id: 'commitReservation',
    method: 'POST',
    path: '/api/v1/quotas/reservations/{reservation}/commit',
    summary: 'Settles a reservation with what it cost in truth.',
    body: commitBody,
    refusal: 'reservation_refused',
    request: (reservation, body) => ({ kind: 'commit', reservation, actual: body.actual }),
    answer: (settlement: Settlement) => settlement,
  }),
  operation({
    id: 'cancelReservation',
    method: 'DELETE',
    path: '/api/v1/quotas/reservations/{reservation}',
    summary: 'Gives a reservation back.',
    refusal: 'reservation_refused',
    request: (reservation) => ({ kind: 'cancel', reservation }),
    answer: (wasHeld: boolean) => ({ cancelled: wasHeld }),
  }),
  operation({
    id: 'acquireLease',
    method: 'POST',
    path: '/api/v1/quotas/{name}/acquire',
    summary: 'Takes a lease of a quota that limits what is held at once; it ends with its TTL if it is not renewed.',
    body: acquireBody,
    refusal: 'quota_refused',
    request: (name, body) => ({
      kind: 'acquire',
      name,
      subject: bytes(body.subject),
      ttlMs: body.ttlMs,
      waitMs: body.waitMs,
      id: body.id,
    }),
    answer: ({ isAllowed, id: lease, standing }: { isAllowed: boolean; id: string; standing: Standing }) => ({
      allowed: isAllowed,
      ...(isAllowed && { lease }),
      ...standing,
    }),
  }),
  operation({
    id: 'renewLease',
    method: 'POST',
    path: '/api/v1/quotas/leases/{lease}/renew',
    summary: 'Lets a lease end so long after now.',
    body: renewBody,
    refusal: 'lease_refused',
    request: (lease, body) => ({ kind: 'renew', lease, ttlMs: body.ttlMs, waitMs: body.waitMs }),
    answer: ({ isRenewed, ttlMs, retryAfterMs }: Exclude<Renewed, { error: string }>) => ({
      renewed: isRenewed,
      ttlMs,
      retryAfterMs,
    }),
  }),
  operation({
    id: 'releaseLease',
    method: 'DELETE',
    path: '/api/v1/quotas/leases/{lease}',
    summary: 'Gives a lease back.',
    refusal: 'lease_refused',
    request: (lease) => ({ kind: 'release', lease }),
    answer: (wasHeld: boolean) => ({ released: wasHeld }),
  }),
  operation({
    id: 'readQuota',
    method: 'GET',
    path: '/api/v1/quotas/{name}',
    summary: 'What is known of a quota and, with ?subject=…, of one of its subjects in the window that it is now.',
    refusal: 'no_such_quota',
    request: (name, _, query) => {
      const given = query.get('subject');
      return { kind: 'info', name, subject: given === null ? undefined : bytes(given) };
    },
    answer: (fields: readonly (readonly [string, string | number])[]) =>
      Object.fromEntries(fields.map(([name, value]) => [camelCase(name), value])),
  }),
  operation({
    id: 'defineQuota',
    method: 'PUT',
    path: '/api/v1/quotas/{name}',
    summary: 'Defines a quota, or changes the limit of one; done in the home region, wherever it is asked for.',
    body: defineBody,
    refusal: 'policy_refused',
    request: (name, body) => ({
      kind: 'define',
      definition: {
        name,
        limit: body.limit,
        windowMs: body.windowMs ?? 0,
        ...(body.leaseMs !== undefined && { leaseMs: body.leaseMs }),
        allocator: body.allocator,
        shares: body.shares ?? [],
        waitMs: body.waitMs ?? USUAL_WAIT_MS,
      },
    }),
    answer: () => ({ defined: true }),
  }),
  operation({
    id: 'dropQuota',
    method: 'DELETE',
    path: '/api/v1/quotas/{name}',
    summary: 'Drops a quota.',
    refusal: 'policy_refused',
    request: (name) => ({ kind: 'drop', name }),
    answer: (wasThere: boolean) => ({ dropped: wasThere }),
  }),
];

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
