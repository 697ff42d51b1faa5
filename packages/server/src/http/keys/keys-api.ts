import type { User } from '@quotadb/config';
import { ByteInput, Engine, joinInt64 } from '@quotadb/engine';
import { type Api, defineProblems, milliseconds, operationsOf, ProblemError } from '@quotadb/http';
import type { Clock, LaneCluster, LaneReplication } from '@quotadb/resp';
import { errors } from '@quotadb/resp';
import { z } from 'zod';
import { requireKeyAccess, requireKeysHere } from '../key-access.js';
import { elsewhereProblems, serverProblems } from '../problems.js';

export interface KeysContext {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly replication: LaneReplication;
  readonly cluster: LaneCluster | undefined;
  /** Resolves when this thread may use the store. */
  readonly share: () => Promise<void>;
}

const keyProblems = defineProblems({
  bad_max_age: [
    400,
    'Bad maximum age',
    'maxAgeMs must be a number of milliseconds of at most 15 digits, or a text such as "60s".',
  ],
  no_such_key: [404, 'No such key', 'There is no key with this name.'],
  stale: [412, 'Stale', 'This region has not heard from another one for longer than maxAgeMs; `regions` has the ages.'],
});

/** The largest number of 15 digits. */
const LONGEST_AGE_MS = 999_999_999_999_999;

const ages = z
  .record(z.string(), z.object({ ageMs: z.int().nullable() }))
  .describe('For each other region, how old the view of it is that the value is made of; null: never wholly known.');

const operation = operationsOf<KeysContext, User>();

export const keysApi: Api<KeysContext, User> = {
  name: 'keys',
  title: 'QuotaDB keys',
  description:
    'Counters by their keys, read at a bounded age. Values are texts: numbers of JSON are exact to 2^53 only.',
  fieldProblems: { key: serverProblems.bad_key, maxAgeMs: keyProblems.bad_max_age },
  operations: [
    operation({
      id: 'readKey',
      method: 'GET',
      path: '/api/v1/keys/{key}',
      summary: 'Read a counter, and how old the views of other regions are that its value is made of',
      roles: ['read'],
      parameters: z.object({
        key: z
          .string()
          .transform((key) => Buffer.from(key))
          .refine(({ length }) => length > 0 && length <= Engine.MAX_KEY_BYTES),
      }),
      query: z.object({
        maxAgeMs: milliseconds(0, LONGEST_AGE_MS).optional().describe('Answer with 412 where a view is older.'),
      }),
      success: {
        description: 'The value.',
        schema: z.object({ key: z.string(), value: z.string(), regions: ages }),
      },
      problems: [keyProblems.no_such_key, keyProblems.stale, serverProblems.key_forbidden, ...elsewhereProblems],
      run: async (context, { path: { key }, query: { maxAgeMs } }, caller) => {
        requireKeyAccess(caller, key);
        await context.share();
        await requireKeysHere(context.cluster, [key]);
        return readKey(context, key, maxAgeMs);
      },
    }),
  ],
};

function readKey({ clock, engine, replication }: KeysContext, key: Buffer, maximumAgeMs: number | undefined): object {
  const regions = Object.fromEntries(
    replication.ages().map(({ region, ageMs }) => [region, { ageMs: ageMs === undefined ? null : Math.round(ageMs) }]),
  );
  if (maximumAgeMs !== undefined && !replication.isFresh(maximumAgeMs)) {
    const stalest = replication.stalest();
    const detail = errors.stale(stalest?.region ?? '?', stalest?.ageMs, maximumAgeMs).replace(/^STALE /, '');
    throw new ProblemError(keyProblems.stale, { detail, members: { regions } });
  }
  engine.advanceTo(clock.now());
  const exists = engine.open(ByteInput.copyOf(key), 0, key.length);
  const value = joinInt64(engine.valueHigh, engine.valueLow);
  engine.close();
  const shown = key.toString('utf8');
  if (!exists) throw new ProblemError(keyProblems.no_such_key, { members: { key: shown, regions } });
  return { key: shown, value: String(value), regions };
}
