import type { User } from '@quotadb/config';
import { type Api, operationsOf } from '@quotadb/http';
import type { LaneCluster } from '@quotadb/resp';
import type { z } from 'zod';
import { requireKeyAccess, requireKeysHere } from '../key-access.js';
import { elsewhereProblems } from '../problems.js';
import { windowProblems } from './problems.js';
import {
  incrementBody,
  keyParameter,
  noQuery,
  rateDecision,
  rateRequest,
  windowCount,
  windowQuery,
} from './schemas.js';
import type { WindowCounts } from './window-counts.js';

type RateRequest = z.output<typeof rateRequest>;

interface RateDecision {
  readonly resetAfterMs: number;
}

export interface WindowsContext {
  readonly windows: WindowCounts;
  readonly cluster: LaneCluster | undefined;
  readonly rates: {
    peek(key: Uint8Array, rate: RateRequest): RateDecision;
    /** Counts a request within the limit; one that is admitted already, in any case. */
    count(key: Uint8Array, rate: RateRequest, isAdmitted: boolean): Promise<RateDecision>;
  };
  /** Resolves when this thread may use the store. */
  readonly share: () => Promise<void>;
}

const { key_forbidden, window_over, count_out_of_range, out_of_memory, disk_failed, not_replicated } = windowProblems;

const operation = operationsOf<WindowsContext, User>();
const counting = { method: 'POST', parameters: keyParameter, query: noQuery } as const;
const rateCounting = {
  ...counting,
  roles: ['write', 'quota', 'counts token'],
  body: { schema: rateRequest, isOptional: true },
  success: { description: 'Counted, or denied: `allowed` says which.', schema: rateDecision },
  problems: [key_forbidden, ...elsewhereProblems, out_of_memory, disk_failed, not_replicated],
} as const;

/** Windows and rate limits, for callers who may run the commands that do the same, on the same keys. */
export const windowsApi: Api<WindowsContext, User> = {
  name: 'windows',
  title: 'QuotaDB windows and rate limits',
  description:
    'Counts of fixed windows of time, and limits of sliding ones. A window belongs to a key, a length and a start; ' +
    'its count is gone soon after its end. Integers are exact to 64 bits: past 2^53 - 1 they are strings of digits.',
  documentPath: '/api/v1/openapi/windows.json',
  fieldProblems: {
    key: windowProblems.invalid_key,
    windowMs: windowProblems.invalid_window,
    startMs: windowProblems.invalid_start,
    amount: windowProblems.invalid_amount,
    limit: windowProblems.invalid_limit,
    cost: windowProblems.invalid_cost,
  },
  operations: [
    operation({
      ...counting,
      id: 'incrementWindow',
      path: '/api/v1/windows/{key}/increment',
      summary: 'Count in a window',
      description: 'Adds the amount, 1 unless it is given, to the count of the window. As WINDOW.INCRBY.',
      roles: ['write', 'counts token'],
      body: { schema: incrementBody, isOptional: true },
      success: { description: 'The count right after this change.', schema: windowCount },
      problems: [
        key_forbidden,
        ...elsewhereProblems,
        window_over,
        count_out_of_range,
        out_of_memory,
        disk_failed,
        not_replicated,
      ],
      run: async (context, { path: { key }, body: { amount, ...window } }, caller) => {
        const { windows } = await enter(context, caller, key);
        return { key: key.toString(), ...(await windows.increment(key, window, BigInt(amount))) };
      },
    }),
    operation({
      id: 'readWindow',
      method: 'GET',
      path: '/api/v1/windows/{key}',
      summary: 'Read the count of a window',
      description: 'Changes nothing. A window in which nothing was counted has the count 0. As WINDOW.GET.',
      roles: ['read', 'counts token'],
      parameters: keyParameter,
      query: windowQuery,
      success: { description: 'The count.', schema: windowCount },
      problems: [key_forbidden, ...elsewhereProblems],
      run: async (context, { path: { key }, query }, caller) => {
        const { windows } = await enter(context, caller, key);
        return { key: key.toString(), ...windows.read(key, query) };
      },
    }),
    operation({
      ...rateCounting,
      id: 'takeFromLimit',
      path: '/api/v1/limits/{key}/take',
      summary: 'Count a request if it is within the limit',
      description:
        'A request that is denied is answered with 200 and `"allowed": false`, and counts for nothing. As RATE.LIMIT.',
      run: async (context, { path: { key }, body }, caller) => {
        const { rates } = await enter(context, caller, key);
        return answerOf(key, await rates.count(key, body, false));
      },
    }),
    operation({
      ...rateCounting,
      id: 'addToLimit',
      path: '/api/v1/limits/{key}/add',
      summary: 'Count a request that was admitted already',
      description: 'Counts it within the limit or not, and says which. As RATE.ADD.',
      run: async (context, { path: { key }, body }, caller) => {
        const { rates } = await enter(context, caller, key);
        return answerOf(key, await rates.count(key, body, true));
      },
    }),
    operation({
      id: 'peekAtLimit',
      method: 'GET',
      path: '/api/v1/limits/{key}',
      summary: 'Say what would be decided',
      description: 'Counts nothing. As RATE.PEEK.',
      roles: ['read', 'quota', 'counts token'],
      parameters: keyParameter,
      query: rateRequest,
      success: { description: 'The decision.', schema: rateDecision },
      problems: [key_forbidden, ...elsewhereProblems],
      run: async (context, { path: { key }, query }, caller) => {
        const { rates } = await enter(context, caller, key);
        return answerOf(key, rates.peek(key, query));
      },
    }),
  ],
};

/** The time until the window ends has the name that it has in the answers of quotas. */
function answerOf(key: Buffer, { resetAfterMs, ...decision }: RateDecision): object {
  return { key: key.toString(), ...decision, resetMs: resetAfterMs };
}

/** Past this, the caller may touch the key, and this thread the store. */
async function enter(context: WindowsContext, caller: User, key: Uint8Array): Promise<WindowsContext> {
  requireKeyAccess(caller, key);
  await context.share();
  await requireKeysHere(context.cluster, [key]);
  return context;
}
