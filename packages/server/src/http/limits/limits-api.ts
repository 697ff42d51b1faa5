import type { User } from '@quotadb/config';
import { type Api, type Operation, operationsOf, ProblemError } from '@quotadb/http';
import {
  type Catalogue,
  type CatalogueChange,
  type Decision,
  type LimitEntry,
  unstamp,
  unstampLimit,
} from '@quotadb/limits';
import type { LeaseOfCheck, LimitAnswer, LimitCheck } from '@quotadb/resp';
import { z } from 'zod';
import type { CatalogueRefusal } from '../../limits/service.js';
import { requireAllKeys, requireKeyAccess, requireKeysHere } from '../key-access.js';
import { elsewhereProblems, groups_missing, serverProblems } from '../problems.js';
import { problemOf } from '../require-safe.js';
import { refusalOf, windowProblems } from '../windows/problems.js';
import { limitProblems } from './problems.js';
import {
  catalogueBody,
  checkBody,
  decision,
  limitBody,
  nameParameter,
  releaseBody,
  subjectParameter,
} from './schemas.js';
import { type SubjectsContext, subjectOperations } from './subject-operations.js';

export interface LimitsContext extends SubjectsContext {
  readonly catalogue: Catalogue;
  check(asked: LimitCheck): Promise<LimitAnswer>;
  release(asked: LeaseOfCheck): Promise<LimitAnswer>;
  /** Resolves with the reason where it is refused. */
  change(change: CatalogueChange): Promise<CatalogueRefusal | undefined>;
}

/** A catalogue may be as large. */
const MAXIMUM_BODY_BYTES = 1024 * 1024;

const operation = operationsOf<LimitsContext, User>();
const body = { maximumBytes: MAXIMUM_BODY_BYTES, takesAnyMediaType: true } as const;
const changed = {
  description: 'The change holds in this region, and soon in all.',
  schema: z.object({ changed: z.boolean() }),
};

const check = operation({
  id: 'checkLimit',
  method: 'POST',
  path: '/api/v1/limits/check',
  summary: 'Checks a request against a limit and its parents, or against all limits of a domain.',
  description:
    'All limits are charged, or none is. A request that is denied is answered with 200 and `"allowed": false`. As ' +
    'LIMIT.CHECK and, with `peek`, LIMIT.PEEK.',
  roles: ['quota'],
  body: { schema: checkBody, ...body },
  success: { description: 'The decision.', schema: decision },
  problems: [
    limitProblems.no_such_limit,
    limitProblems.limit_refused,
    serverProblems.key_forbidden,
    serverProblems.not_replicated,
    windowProblems.out_of_memory,
    ...elsewhereProblems,
  ],
  run: async (limits, { body: { name, subject, cost, waitMs, peek, lease } }, caller) => {
    requireKeyAccess(caller, subject);
    await requireKeysHere(limits.cluster, [subject], waitMs);
    return decide(limits, { name, subject, cost, waitMs, isPeek: peek, lease });
  },
});

const release = operation({
  id: 'releaseLeasesOfCheck',
  method: 'POST',
  path: '/api/v1/limits/release',
  summary: 'Ends the leases that a check has taken in this region.',
  description: 'As LIMIT.RELEASE.',
  roles: ['quota'],
  body: { schema: releaseBody, ...body },
  success: {
    description: 'Whether there was one: it may have been released, or its time may be over.',
    schema: z.object({ released: z.boolean() }),
  },
  problems: [
    limitProblems.no_such_limit,
    limitProblems.limit_refused,
    serverProblems.key_forbidden,
    serverProblems.not_replicated,
    ...elsewhereProblems,
  ],
  run: async (limits, { body: asked }, caller) => {
    requireKeyAccess(caller, asked.subject);
    await requireKeysHere(limits.cluster, [asked.subject]);
    const answer = await limits.release(asked);
    if ('changed' in answer) return { released: answer.changed };
    throw refused(limits, asked.name, answer);
  },
});

const look = operation({
  id: 'lookAtSubject',
  method: 'GET',
  path: '/api/v1/limits/named/{name}/subjects/{subject}',
  summary: 'How a subject stands with a limit and its parents now; charges nothing.',
  description: 'As LIMIT.PEEK with a cost of 0.',
  roles: ['quota'],
  parameters: subjectParameter,
  success: { description: 'Its standing.', schema: decision },
  problems: [
    limitProblems.no_such_limit,
    limitProblems.limit_refused,
    serverProblems.key_forbidden,
    ...elsewhereProblems,
  ],
  run: async (limits, { path: { name, subject } }, caller) => {
    requireKeyAccess(caller, subject);
    await requireKeysHere(limits.cluster, [subject]);
    return decide(limits, { name, subject, cost: 0, isPeek: true });
  },
});

async function decide(limits: LimitsContext, asked: LimitCheck): Promise<object> {
  const { name } = asked;
  const answer = await limits.check(asked);
  if ('decision' in answer) return describe(answer.decision);
  if ('status' in answer) throw refusalOf(answer.status);
  throw refused(limits, name, answer);
}

function refused(limits: LimitsContext, name: string, answer: LimitAnswer): ProblemError {
  const isKnown = limits.catalogue.limits.some((entry) => entry.name === name || entry.domain === name);
  const problem = isKnown ? limitProblems.limit_refused : limitProblems.no_such_limit;
  return 'error' in answer ? problemOf(answer, problem) : new ProblemError(problem);
}

const catalogueOperations: readonly Operation<LimitsContext, User>[] = [
  operation({
    id: 'readCatalogue',
    method: 'GET',
    path: '/api/v1/limits',
    summary: 'The catalogue of limits, as it was written.',
    roles: ['quota'],
    success: { description: 'Plans and limits.', schema: catalogueBody },
    run: ({ catalogue }, _input, caller) => {
      requireAllKeys(caller, 'limits');
      return unstamp(catalogue);
    },
  }),
  operation({
    id: 'replaceCatalogue',
    method: 'PUT',
    path: '/api/v1/limits',
    summary: 'Replaces the whole catalogue at once; any region passes it on to the home region.',
    description: 'One with mistakes is refused with all of them, and the one before stays. As LIMIT.LOAD.',
    roles: ['admin'],
    body: { schema: catalogueBody, ...body },
    success: changed,
    problems: [limitProblems.catalogue_refused, serverProblems.not_replicated, groups_missing],
    run: (limits, { body: given }, caller) => {
      requireAllKeys(caller, 'limits');
      return change(limits, { replace: given as Catalogue });
    },
  }),
  operation({
    id: 'readLimit',
    method: 'GET',
    path: '/api/v1/limits/named/{name}',
    summary: 'One limit of the catalogue, as it was written.',
    roles: ['quota'],
    parameters: nameParameter,
    success: { description: 'The limit.', schema: limitBody },
    problems: [limitProblems.no_such_limit],
    run: ({ catalogue }, { path: { name } }, caller) => {
      requireAllKeys(caller, 'limits');
      const entry = catalogue.limits.find((limit) => limit.name === name);
      if (entry === undefined) throw new ProblemError(limitProblems.no_such_limit);
      return unstampLimit(entry);
    },
  }),
  operation({
    id: 'setLimit',
    method: 'PUT',
    path: '/api/v1/limits/named/{name}',
    summary: 'Adds a limit to the catalogue, or replaces the one of its name. As LIMIT.SET.',
    roles: ['admin'],
    parameters: nameParameter,
    body: { schema: limitBody, ...body },
    success: changed,
    problems: [limitProblems.catalogue_refused, serverProblems.not_replicated, groups_missing],
    run: (limits, { path: { name }, body: given }, caller) => {
      requireAllKeys(caller, 'limits');
      return change(limits, { set: { ...given, name } as LimitEntry });
    },
  }),
  operation({
    id: 'dropLimit',
    method: 'DELETE',
    path: '/api/v1/limits/named/{name}',
    summary: 'Drops a limit of the catalogue. As LIMIT.DROP.',
    roles: ['admin'],
    parameters: nameParameter,
    success: changed,
    problems: [limitProblems.catalogue_refused, serverProblems.not_replicated, groups_missing],
    run: (limits, { path: { name } }, caller) => {
      requireAllKeys(caller, 'limits');
      if (!limits.catalogue.limits.some((entry) => entry.name === name)) return { changed: false };
      return change(limits, { drop: name });
    },
  }),
];

/** Limits as data: everything that the LIMIT commands do, over HTTP. */
export const limitsApi: Api<LimitsContext, User> = {
  name: 'limits',
  title: 'QuotaDB limits',
  description: 'The catalogue of limits, and one check for all kinds of them.',
  documentPath: '/api/v1/limits/openapi.json',
  fieldProblems: { name: limitProblems.invalid_name, subject: limitProblems.invalid_name },
  operations: [check, release, look, ...catalogueOperations, ...subjectOperations],
};

async function change(limits: LimitsContext, wanted: CatalogueChange): Promise<{ changed: true }> {
  const refused = await limits.change(wanted);
  if (refused !== undefined)
    throw problemOf(refused, refused.isPartial ? groups_missing : limitProblems.catalogue_refused);
  return { changed: true };
}

function describe({ items, deniedBy, ...standing }: Decision): object {
  return { ...finite(standing), deniedBy: deniedBy ?? null, limits: items.map(finite) };
}

/** JSON has no infinity. */
function finite<Given extends { readonly limit: number; readonly remaining: number }>(given: Given): Given {
  if (given.limit !== Number.POSITIVE_INFINITY) return given;
  return { ...given, limit: -1, remaining: -1 };
}
