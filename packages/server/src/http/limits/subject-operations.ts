import type { User } from '@quotadb/config';
import { type Operation, operationsOf } from '@quotadb/http';
import type { Standing } from '@quotadb/quota';
import type { LaneCluster, QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { z } from 'zod';
import { requireAllKeys, requireKeysHere } from '../key-access.js';
import { elsewhereProblems, serverProblems } from '../problems.js';
import { problemOf } from '../require-safe.js';
import { limitProblems } from './problems.js';
import { amountBody, nameParameter, pageQuery, resetBody, subjectParameter } from './schemas.js';

export interface SubjectsContext {
  readonly cluster: LaneCluster | undefined;
  askQuotas(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void;
}

/** The users of a server without any. */
const NOBODY = 'default';
const MAXIMUM_BODY_BYTES = 16 * 1024;

const operation = operationsOf<SubjectsContext, User>();
const body = { maximumBytes: MAXIMUM_BODY_BYTES, takesAnyMediaType: true } as const;
const SUBJECT = '/api/v1/limits/named/{name}/subjects/{subject}';
const EXACT = 'Of limits of kind exact. ';
const ALL = 'Of limits of all kinds but concurrency. ';

interface Page {
  readonly cursor: string;
  readonly subjects: readonly (Standing & { readonly subject: Uint8Array; readonly limit?: number })[];
}

/** What operators do for one subject: look, give back, give more. Each change is an audited event (QUOTA.EVENTS). */
export const subjectOperations: readonly Operation<SubjectsContext, User>[] = [
  operation({
    id: 'listSubjects',
    method: 'GET',
    path: '/api/v1/limits/named/{name}/subjects',
    summary: 'A page of the subjects that used a limit in its current window, as far as this region knows.',
    description: 'In a cluster, those of this group. As LIMIT.SUBJECTS.',
    roles: ['admin'],
    parameters: nameParameter,
    query: pageQuery,
    success: {
      description: 'The subjects, and the cursor of the next page: "0" after the last.',
      schema: z.object({
        cursor: z.string(),
        subjects: z.array(z.object({ subject: z.string(), remaining: z.int(), resetMs: z.int() })),
      }),
    },
    problems: [limitProblems.adjustment_refused],
    run: async (limits, { path: { name }, query: { cursor, count } }, caller) => {
      const page = await ask<Page>(limits, caller, { kind: 'subjects', name, cursor, count });
      const subjects = page.subjects.map(({ subject, remainingEverywhere: remaining, resetMs }) => {
        return { subject: Buffer.from(subject).toString(), remaining, resetMs };
      });
      return { cursor: page.cursor, subjects };
    },
  }),
  operation({
    id: 'refundSubject',
    method: 'POST',
    path: `${SUBJECT}/refund`,
    summary: 'Gives back what a subject has used in this region and window.',
    description: `${ALL}As LIMIT.REFUND.`,
    roles: ['admin'],
    parameters: subjectParameter,
    body: { schema: amountBody, ...body },
    success: { description: 'The tokens given back.', schema: z.object({ refunded: z.int() }) },
    problems: [limitProblems.adjustment_refused, serverProblems.not_replicated, ...elsewhereProblems],
    run: async (limits, { path, body: { amount, id } }, caller) => {
      const request = { kind: 'refund', ...path, by: nameOf(caller), amount, id } as const;
      const { refunded } = await ask<{ readonly refunded: number }>(limits, caller, request);
      return { refunded };
    },
  }),
  operation({
    id: 'resetSubject',
    method: 'POST',
    path: `${SUBJECT}/reset`,
    summary: 'Gives back all that a subject has used in this window, in every region that can be reached.',
    description: `${ALL}As LIMIT.RESET.`,
    roles: ['admin'],
    parameters: subjectParameter,
    body: { schema: resetBody, isOptional: true, ...body },
    success: {
      description: 'The tokens given back, the regions that did, and those that did not answer.',
      schema: z.object({ refunded: z.int(), regions: z.array(z.string()), missing: z.array(z.string()) }),
    },
    problems: [limitProblems.adjustment_refused, serverProblems.not_replicated, ...elsewhereProblems],
    run: (limits, { path, body: given }, caller) =>
      ask<object>(limits, caller, { kind: 'reset', ...path, by: nameOf(caller), id: given?.id }),
  }),
  operation({
    id: 'giveExtra',
    method: 'POST',
    path: `${SUBJECT}/extra`,
    summary: 'Gives a subject tokens beside its limit, in the current window and in all regions.',
    description: `${EXACT}As QUOTA.EXTRA.`,
    roles: ['admin'],
    parameters: subjectParameter,
    body: { schema: amountBody, ...body },
    success: { description: 'The limit of the subject in this window.', schema: z.object({ limit: z.int() }) },
    problems: [limitProblems.adjustment_refused, serverProblems.not_replicated, ...elsewhereProblems],
    run: async (limits, { path, body: { amount, id } }, caller) => ({
      limit: await ask<number>(limits, caller, { kind: 'extra', ...path, by: nameOf(caller), amount, id }),
    }),
  }),
];

async function ask<Value>(limits: SubjectsContext, caller: User, request: QuotaRequest): Promise<Value> {
  requireAllKeys(caller, 'limits');
  if ('subject' in request && request.subject !== undefined) await requireKeysHere(limits.cluster, [request.subject]);
  const answer = await new Promise<QuotaAnswer>((resolve) => limits.askQuotas(request, resolve));
  if ('value' in answer) return answer.value as Value;
  throw problemOf(answer, limitProblems.adjustment_refused);
}

function nameOf({ name }: User): string {
  return name || NOBODY;
}
