import { slotOfKey, slotTag, withoutSlotTag } from '@quotadb/cluster';
import type { User } from '@quotadb/config';
import { type Api, type Operation, operationsOf, type Problem } from '@quotadb/http';
import { type Renewed, type Settlement, type Standing, USUAL_WAIT_MS } from '@quotadb/quota';
import type { LaneCluster, QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { z } from 'zod';
import { requireAllKeys, withKeysHere } from '../key-access.js';
import { elsewhereProblems, groups_missing, serverProblems } from '../problems.js';
import { problemOf } from '../require-safe.js';
import { quotaProblems } from './problems.js';
import {
  acquireBody,
  commitBody,
  count,
  defineBody,
  quotaDescription,
  renewBody,
  reserveBody,
  standing,
  subject,
  takeAllBody,
  takeBody,
} from './schemas.js';

export interface QuotasContext {
  readonly policies: readonly { readonly name: string }[];
  readonly cluster: LaneCluster | undefined;
  ask(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void;
}

/** Room for a take of as many items as one may have. */
const MAXIMUM_BODY_BYTES = 64 * 1024;

type Taken = { readonly isAllowed: boolean; readonly standings: readonly Standing[] };
/** The answer to a request for a reservation or a lease. */
type Held = { readonly isAllowed: boolean; readonly id: string; readonly standing: Standing };

const operation = operationsOf<QuotasContext, User>();

interface QuotaOperation<Body extends z.ZodType, Value> {
  readonly id: string;
  readonly method: Operation['method'];
  /** `{name}`, `{reservation}` or `{lease}` is the variable segment. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: Body;
  readonly success: z.ZodType;
  /** What a refusal means here. */
  readonly refusal: Problem;
  readonly request: (variable: string, body: z.output<Body>, query: { readonly subject?: Uint8Array }) => QuotaRequest;
  readonly answer: (value: Value) => object;
}

/** An operation that asks the quotas, as the command of the same name does. */
function quotaOperation<Body extends z.ZodType, Value>(declaration: QuotaOperation<Body, Value>) {
  const { body, success, refusal, request, answer, ...rest } = declaration;
  const isUnknownRefused = refusal === quotaProblems.quota_refused && rest.path.includes('{name}');
  return operation({
    ...rest,
    roles: [refusal === quotaProblems.policy_refused ? 'admin' : 'quota'],
    ...(body && { body: { schema: body, maximumBytes: MAXIMUM_BODY_BYTES } }),
    success: { description: 'Done, or denied: `allowed` says which.', schema: success },
    problems: [
      refusal,
      ...(rest.method === 'GET' ? [] : [serverProblems.not_replicated]),
      ...(refusal === quotaProblems.policy_refused ? [groups_missing] : elsewhereProblems),
      ...(rest.path.includes('{') ? [] : [serverProblems.keys_apart]),
      ...(isUnknownRefused ? [serverProblems.no_such_quota] : []),
    ],
    run: async (quotas, input, caller) => {
      requireAllKeys(caller, 'quotas');
      const [variable = ''] = Object.values(input.path);
      const asked = request(variable, input.body as z.output<Body>, input.query);
      const waitMs = ('waitMs' in asked ? asked.waitMs : undefined) ?? 0;
      const ask = () => new Promise<QuotaAnswer>((resolve) => quotas.ask(withoutTag(asked), resolve));
      const answered = await withKeysHere(quotas.cluster, subjectsOf(asked), waitMs, ask);
      if ('value' in answered) return answer(tagged(quotas.cluster, asked, answered.value) as Value);
      const isUnknown = isUnknownRefused && !quotas.policies.some(({ name }) => name === variable);
      const otherwise = isUnknown ? serverProblems.no_such_quota : refusal;
      throw problemOf(answered, answered.isPartial ? groups_missing : otherwise);
    },
  });
}

/** The subjects that a request is about; a reservation or lease has the slot of its subject, by its tag. */
function subjectsOf(request: QuotaRequest): readonly Uint8Array[] {
  if ('reservation' in request) return [Buffer.from(request.reservation)];
  if ('lease' in request) return [Buffer.from(request.lease)];
  if ('items' in request) return request.items.map(({ subject }) => subject);
  if ('item' in request) return [request.item.subject];
  return 'subject' in request && request.subject !== undefined ? [request.subject] : [];
}

/** The id of a reservation or lease as the quotas know it. */
function withoutTag(request: QuotaRequest): QuotaRequest {
  if ('reservation' in request) return { ...request, reservation: withoutSlotTag(request.reservation) };
  return 'lease' in request ? { ...request, lease: withoutSlotTag(request.lease) } : request;
}

/** In a cluster the id of a reservation or lease ends with a tag of its subject's slot, as over RESP. */
function tagged(cluster: LaneCluster | undefined, request: QuotaRequest, value: unknown): unknown {
  if (cluster === undefined || (request.kind !== 'reserve' && request.kind !== 'acquire')) return value;
  const held = value as Held;
  const [subject] = subjectsOf(request) as [Uint8Array];
  return { ...held, id: `${held.id}${slotTag(slotOfKey(subject, 0, subject.length))}` };
}

const listQuotas = operation({
  id: 'listQuotas',
  method: 'GET',
  path: '/api/v1/quotas',
  summary: 'Lists the names of all quotas.',
  roles: ['quota'],
  success: { description: 'The names.', schema: z.object({ quotas: z.array(z.string()) }) },
  run: ({ policies }, _input, caller) => {
    requireAllKeys(caller, 'quotas');
    return { quotas: policies.map(({ name }) => name) };
  },
});

const quotaOperations: readonly Operation<QuotasContext, User>[] = [
  listQuotas,
  quotaOperation({
    id: 'takeQuota',
    method: 'POST',
    path: '/api/v1/quotas/{name}/take',
    summary: 'Takes tokens of a quota, if it has enough.',
    body: takeBody,
    success: z.object({ allowed: z.boolean(), ...standing }),
    refusal: quotaProblems.quota_refused,
    request: (name, { subject, cost, ...rest }) => ({ kind: 'take', items: [{ name, subject, cost }], ...rest }),
    answer: ({ isAllowed, standings }: Taken) => ({ allowed: isAllowed, ...standings[0] }),
  }),
  quotaOperation({
    id: 'takeAllQuotas',
    method: 'POST',
    path: '/api/v1/quotas/take-all',
    summary: 'Takes from several quotas at once, from all of them or from none.',
    body: takeAllBody,
    success: z.object({ allowed: z.boolean(), quotas: z.array(z.object(standing)) }),
    refusal: quotaProblems.quota_refused,
    request: (_, body) => ({ kind: 'take', ...body }),
    answer: ({ isAllowed, standings }: Taken) => ({ allowed: isAllowed, quotas: standings }),
  }),
  quotaOperation({
    id: 'reserveQuota',
    method: 'POST',
    path: '/api/v1/quotas/{name}/reserve',
    summary:
      'Takes an estimate, to be settled when the cost is known; unsettled, its tokens come back or count as used.',
    body: reserveBody,
    success: z.object({ allowed: z.boolean(), reservation: z.string().optional(), ...standing }),
    refusal: quotaProblems.quota_refused,
    request: (name, { subject, estimate: cost, ...rest }) => ({
      kind: 'reserve',
      item: { name, subject, cost },
      ...rest,
    }),
    answer: ({ isAllowed, id: reservation, standing }: Held) => ({
      allowed: isAllowed,
      ...(isAllowed && { reservation }),
      ...standing,
    }),
  }),
  quotaOperation({
    id: 'commitReservation',
    method: 'POST',
    path: '/api/v1/quotas/reservations/{reservation}/commit',
    summary: 'Settles a reservation with its true cost.',
    body: commitBody,
    success: z.object({ charged: count, uncharged: count }),
    refusal: quotaProblems.reservation_refused,
    request: (reservation, body) => ({ kind: 'commit', reservation, ...body }),
    answer: (settlement: Settlement) => settlement,
  }),
  quotaOperation({
    id: 'cancelReservation',
    method: 'DELETE',
    path: '/api/v1/quotas/reservations/{reservation}',
    summary: 'Gives a reservation back.',
    success: z.object({ cancelled: z.boolean() }),
    refusal: quotaProblems.reservation_refused,
    request: (reservation) => ({ kind: 'cancel', reservation }),
    answer: (wasHeld: boolean) => ({ cancelled: wasHeld }),
  }),
  quotaOperation({
    id: 'acquireLease',
    method: 'POST',
    path: '/api/v1/quotas/{name}/acquire',
    summary: 'Takes a lease of a quota that limits concurrency; it ends with its TTL if it is not renewed.',
    body: acquireBody,
    success: z.object({ allowed: z.boolean(), lease: z.string().optional(), ...standing }),
    refusal: quotaProblems.quota_refused,
    request: (name, body) => ({ kind: 'acquire', name, ...body, waitMs: body.waitMs }),
    answer: ({ isAllowed, id: lease, standing }: Held) => ({
      allowed: isAllowed,
      ...(isAllowed && { lease }),
      ...standing,
    }),
  }),
  quotaOperation({
    id: 'renewLease',
    method: 'POST',
    path: '/api/v1/quotas/leases/{lease}/renew',
    summary: 'Renews a lease: it ends a TTL from now.',
    body: renewBody,
    success: z.object({ renewed: z.boolean(), ttlMs: count, retryAfterMs: z.int() }),
    refusal: quotaProblems.lease_refused,
    request: (lease, body) => ({ kind: 'renew', lease, ...body, waitMs: body.waitMs }),
    answer: ({ isRenewed, ttlMs, retryAfterMs }: Exclude<Renewed, { error: string }>) => ({
      renewed: isRenewed,
      ttlMs,
      retryAfterMs,
    }),
  }),
  quotaOperation({
    id: 'releaseLease',
    method: 'DELETE',
    path: '/api/v1/quotas/leases/{lease}',
    summary: 'Gives a lease back.',
    success: z.object({ released: z.boolean() }),
    refusal: quotaProblems.lease_refused,
    request: (lease) => ({ kind: 'release', lease }),
    answer: (wasHeld: boolean) => ({ released: wasHeld }),
  }),
  quotaOperation({
    id: 'readQuota',
    method: 'GET',
    path: '/api/v1/quotas/{name}',
    summary: 'Describes a quota and, with ?subject=…, one of its subjects in the current window.',
    success: quotaDescription,
    refusal: serverProblems.no_such_quota,
    query: z.object({ subject: subject.optional() }),
    request: (name, _, query) => ({ kind: 'info', name, subject: query.subject }),
    answer: (fields: readonly (readonly [string, string | number])[]) =>
      Object.fromEntries(fields.map(([name, value]) => [camelCase(name), typedField(name, value)])),
  }),
  quotaOperation({
    id: 'defineQuota',
    method: 'PUT',
    path: '/api/v1/quotas/{name}',
    summary: 'Defines a quota, or changes its limit; any region passes the request to the home region.',
    body: defineBody,
    success: z.object({ defined: z.literal(true) }),
    refusal: quotaProblems.policy_refused,
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
  quotaOperation({
    id: 'dropQuota',
    method: 'DELETE',
    path: '/api/v1/quotas/{name}',
    summary: 'Drops a quota.',
    success: z.object({ dropped: z.boolean() }),
    refusal: quotaProblems.policy_refused,
    request: (name) => ({ kind: 'drop', name }),
    answer: (wasThere: boolean) => ({ dropped: wasThere }),
  }),
];

/** Everything that the QUOTA commands do, over HTTP. */
export const quotasApi: Api<QuotasContext, User> = {
  name: 'quotas',
  title: 'QuotaDB quotas',
  description: 'Limits that are exact across regions.',
  documentPath: '/api/v1/quotas/openapi.json',
  fieldProblems: {
    name: quotaProblems.invalid_name,
    reservation: quotaProblems.invalid_name,
    lease: quotaProblems.invalid_name,
  },
  operations: quotaOperations,
};

/** The fields of QUOTA.INFO, which has texts and integers only, as JSON has them. */
function typedField(name: string, value: string | number): unknown {
  if (name === 'starts-here' || name === 'catalogued') return value === 1;
  if (name === 'admit-fraction') return Number(value);
  if (name !== 'shares') return value;
  return String(value)
    .split(' ')
    .filter((text) => text !== '')
    .map((text) => {
      const [region, fraction] = text.split('=');
      return { region, fraction: Number(fraction) };
    });
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
