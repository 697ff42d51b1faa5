import type { Configuration, User } from '@quotadb/config';
import { Need } from '@quotadb/config';
import { countProblems, problemOfError } from '@quotadb/counts';
import type { CountPage, QuotaDetails, Sources } from '@quotadb/dashboard';
import { Engine } from '@quotadb/engine';
import { type Api, defineProblems, operationsOf, ProblemError } from '@quotadb/http';
import { MAXIMUM_SUBJECT_BYTES } from '@quotadb/quota';
import { Glob } from '@quotadb/resp';
import { serverName } from '@quotadb/wire';
import { z } from 'zod';
import { requireKeyAccess } from '../http/key-access.js';
import { serverProblems } from '../http/problems.js';
import { describeSettings } from './describe-settings.js';
import { RANGES } from './history.js';
import { describeKey, findKeys, type KeysView } from './look-at-keys.js';
import { pageOperations } from './page.js';
import { MAXIMUM_LISTENERS, type SnapshotStream } from './snapshot-stream.js';

export interface DashboardContext {
  readonly config: Configuration;
  readonly stream: SnapshotStream;
  readonly keys: KeysView;
  /** Resolves when this thread may use the store. */
  readonly share: () => Promise<void>;
  /** Undefined where there is no such quota. */
  readonly quota: (name: string, subject: Uint8Array) => QuotaDetails | undefined;
  /** Named counts whose ids begin with the prefix, behind the cursor. */
  readonly counts: (prefix: string, cursor: string) => Promise<CountPage>;
}

const dashboardProblems = defineProblems({
  bad_subject: [
    400,
    'Bad subject',
    `The name is not percent-encoded UTF-8, or the subject is longer than ${MAXIMUM_SUBJECT_BYTES} bytes.`,
  ],
  too_many_pages: [503, 'Too many pages', `${MAXIMUM_LISTENERS} pages are open already. Close one.`],
});

const operation = operationsOf<DashboardContext, User>();
const reading = { method: 'GET', roles: ['read'] } as const;
const bytes = (text: string) => Buffer.from(text);
const may = (caller: User, need: number): boolean => (caller.lacks & need) === 0;
/** As long as an item id, or the beginning of one, may be; PostgreSQL takes no zero character. */
const itemIdPart = z
  .string()
  .max(255)
  .regex(/^[^\0]*$/)
  .default('');
const keySummary = z.object({
  key: z.string(),
  isText: z.boolean(),
  value: z.string(),
  expiresAtMs: z.number(),
  regions: z.array(z.string()),
});
const settingFacts = z.object({
  name: z.string(),
  value: z.string(),
  standard: z.string(),
  help: z.string(),
  range: z.string(),
  isChangeable: z.boolean(),
});

/** Nothing here changes anything, and credentials travel in a header that no other site can make a browser send. */
export const dashboardApi: Api<DashboardContext, User> = {
  name: 'dashboard',
  title: 'QuotaDB dashboard',
  description: 'The page, and where its figures come from.',
  fieldProblems: {
    key: serverProblems.bad_key,
    cursor: serverProblems.bad_key,
    name: dashboardProblems.bad_subject,
    subject: dashboardProblems.bad_subject,
  },
  problemOf: problemOfError,
  operations: [
    ...pageOperations,
    operation({
      ...reading,
      id: 'listSources',
      path: '/api/v1/dashboard/sources',
      summary: 'The regions whose figures the page shows',
      success: {
        description: 'The regions.',
        schema: z.object({
          sources: z.array(z.object({ region: z.string(), base: z.string() })),
          isDemo: z.boolean(),
          user: z.object({ name: z.string(), isAdmin: z.boolean(), mayTake: z.boolean() }),
        }),
      },
      run: ({ config }, _input, caller): Sources => ({
        sources: [{ region: serverName(config), base: '' }],
        isDemo: false,
        user: {
          name: caller.name,
          isAdmin: may(caller, Need.admin),
          // The quotas API serves no users with prefixes.
          mayTake: may(caller, Need.quota) && !caller.hasPrefixes,
        },
      }),
    }),
    operation({
      ...reading,
      id: 'readHistory',
      path: '/api/v1/dashboard/history',
      summary: 'The figures of the last minutes or hours, in steps that widen with the range',
      query: z.object({ range: z.enum(Object.keys(RANGES) as (keyof typeof RANGES)[]).default('5m') }),
      success: {
        description: 'A value for each step, from the oldest to the newest; null where it is not known.',
        schema: z.object({
          range: z.string(),
          stepMs: z.int(),
          startMs: z.int(),
          series: z.record(z.string(), z.array(z.number().nullable())),
        }),
      },
      run: ({ stream }, { query: { range } }) => stream.readHistory(range),
    }),
    operation({
      ...reading,
      id: 'followSnapshots',
      path: '/api/v1/dashboard/events',
      summary: 'A snapshot of all figures a second, as server-sent events',
      success: { description: 'The stream; it ends with the connection.', mediaType: 'text/event-stream' },
      problems: [dashboardProblems.too_many_pages],
      respond: ({ stream }, _input, caller, { response }) => {
        if (stream.isFull) throw new ProblemError(dashboardProblems.too_many_pages);
        stream.add(response, !caller.hasPrefixes);
      },
    }),
    operation({
      ...reading,
      id: 'findKeys',
      path: '/api/v1/dashboard/keys',
      summary: 'Keys that fit a pattern with their values, a page at a time',
      query: z.object({
        match: z
          .string()
          .refine((pattern) => Buffer.byteLength(pattern) <= Glob.MAXIMUM_BYTES)
          .default('*'),
        cursor: z
          .string()
          .regex(/^\d{0,20}$/)
          .default(''),
      }),
      success: {
        description: 'Keys, and the cursor of the next page; empty at the end.',
        schema: z.object({ keys: z.array(keySummary), cursor: z.string() }),
      },
      run: async ({ keys, share }, { query: { match, cursor } }, caller) => {
        await share();
        return findKeys(keys, match, cursor, caller);
      },
    }),
    operation({
      ...reading,
      id: 'describeKey',
      path: '/api/v1/dashboard/keys/{key}',
      summary: 'A key with the components of every region',
      parameters: z.object({
        key: z
          .string()
          .transform(bytes)
          .refine(({ length }) => length <= Engine.MAX_KEY_BYTES),
      }),
      success: {
        description: 'The key.',
        schema: z.looseObject({ key: z.string(), exists: z.boolean(), value: z.string() }),
      },
      problems: [serverProblems.key_forbidden],
      run: async ({ keys, share }, { path: { key } }, caller) => {
        requireKeyAccess(caller, key);
        await share();
        return describeKey(keys, key);
      },
    }),
    operation({
      ...reading,
      id: 'describeQuota',
      path: '/api/v1/dashboard/quotas/{name}',
      summary: 'Where the tokens of a subject are',
      query: z.object({
        subject: z
          .string()
          .default('')
          .transform(bytes)
          .refine(({ length }) => length <= MAXIMUM_SUBJECT_BYTES),
      }),
      success: {
        description: 'The tokens by region.',
        schema: z.looseObject({ name: z.string(), subject: z.string(), limit: z.int() }),
      },
      problems: [serverProblems.key_forbidden, serverProblems.no_such_quota],
      run: async ({ quota, share }, { path: { name }, query: { subject } }, caller) => {
        requireKeyAccess(caller, subject);
        await share();
        const details = quota(name, subject);
        if (details === undefined) throw new ProblemError(serverProblems.no_such_quota);
        return details;
      },
    }),
    operation({
      id: 'readConfiguration',
      method: 'GET',
      path: '/api/v1/dashboard/configuration',
      summary: 'The settings of the server, without secrets',
      roles: ['admin'],
      success: {
        description: 'The settings.',
        schema: z.array(settingFacts),
      },
      run: ({ config }) => describeSettings(config),
    }),
    operation({
      id: 'listCounts',
      method: 'GET',
      path: '/api/v1/dashboard/counts',
      summary: 'Named counts by the beginning of their ids, a page at a time; starts no database',
      roles: ['admin'],
      query: z.object({ prefix: itemIdPart, cursor: itemIdPart }),
      success: {
        description: 'The counts, and the id to go on after; empty at the end.',
        schema: z.object({
          isInUse: z.boolean(),
          counts: z.array(z.object({ itemId: z.string(), value: z.string(), updatedAtMs: z.int() })),
          cursor: z.string(),
        }),
      },
      problems: [countProblems.overloaded, countProblems.database_unavailable, countProblems.schema_unsuitable],
      run: ({ counts }, { query: { prefix, cursor } }, caller) => {
        requireKeyAccess(caller, bytes(prefix));
        return counts(prefix, cursor);
      },
    }),
  ],
};
