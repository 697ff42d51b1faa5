import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { InjectedConflicts, type Moment } from './testing/injected-conflicts.js';
import { describeWithPgBouncer, PgBouncer } from './testing/pgbouncer.js';
import { TestDatabase } from './testing/test-database.js';

const CALLS = 200;
const CALLERS = 30;

/** Conflicts that PostgreSQL-compatible distributed databases answer with all the time, and PostgreSQL when strict. */
const CASES: readonly [code: string, moment: Moment][] = [
  ['40001', 'in the statement'],
  ['40001', 'at the commit'],
  ['40P01', 'in the statement'],
  ['40P01', 'at the commit'],
];

let database: TestDatabase;
let conflicts: InjectedConflicts;
let services: CountsService[] = [];
const troubles: unknown[] = [];

beforeAll(async () => {
  database = await TestDatabase.start();
  conflicts = new InjectedConflicts(database);
});

afterAll(() => database.stop());

afterEach(async () => {
  for (const service of services) await service.stop();
  troubles.length = 0;
});

async function startTwo(postgres = database.options): Promise<void> {
  const onTrouble = (error: unknown) => troubles.push(error);
  services = [0, 1].map(() => createCountsService({ postgres, onTrouble }));
  await Promise.all(services.map((service) => service.ready()));
}

/** Calls from many callers to both instances; every answer, in no order. A call that fails fails the test. */
async function callAll<Result>(call: (service: CountsService, index: number) => Promise<Result>): Promise<Result[]> {
  const answers: Result[] = [];
  let next = 0;
  const caller = async () => {
    while (next < CALLS) {
      const index = next++;
      answers.push(await call(services[index % 2]!, index));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return answers;
}

const oneToAll = Array.from({ length: CALLS }, (_, index) => BigInt(index + 1));
const sorted = (values: readonly bigint[]) => [...values].sort((one, other) => (one < other ? -1 : 1));

async function holdsThroughConflicts(code: string, moment: Moment): Promise<void> {
  const name = (what: string) => `${what} ${code} ${moment}`;
  await conflicts.start(code, moment, 3);
  let injected: number;
  try {
    const [plain, keyed, fed] = [name('plain'), name('keyed'), name('fed')];
    await Promise.all([plain, keyed, fed].map((item) => services[0]!.api.internal.initialize(item, 0n)));
    // Applied once: every value from the first to the last is the answer to one call, and the last is stored.
    const plainAnswers = await callAll(({ api }) => api.external.increase(plain, 1n));
    expect(sorted(plainAnswers.map(({ value }) => value))).toEqual(oneToAll);
    const keyOf = (index: number) => name(`key-${index}`).replaceAll(' ', '-');
    const keyedAnswers = await callAll(({ api }, index) => api.external.increase(keyed, 1n, keyOf(index)));
    expect(sorted(keyedAnswers.map(({ value }) => value))).toEqual(oneToAll);
    const again = await callAll(({ api }, index) => api.external.increase(keyed, 1n, keyOf(index)));
    expect(sorted(again.map(({ value }) => value))).toEqual(oneToAll);
    // Creations and deletions, half of them with a key, each with the answer of its one success.
    await callAll(({ api }, index) =>
      api.internal.initialize(name(`made-${index}`), 7n, index % 2 === 0 ? `${keyOf(index)}-made` : undefined),
    );
    await callAll(({ api }, index) =>
      api.internal.delete(name(`made-${index}`), index % 2 === 0 ? `${keyOf(index)}-deleted` : undefined),
    );
    const origin = { itemId: fed, origin: 'us', generation: 1n, decrements: 0n };
    await callAll(({ feed }, index) => feed.fold([{ ...origin, increments: BigInt(index + 1) }]));
    for (const item of [plain, keyed, fed]) expect(await database.valueOf(item)).toBe(BigInt(CALLS));
    expect(await database.query('SELECT FROM count_values WHERE item_id LIKE $1', [name('made-%')])).toEqual([]);
  } finally {
    injected = await conflicts.stop();
  }
  expect(injected).toBeGreaterThan(50);
}

describe('one transaction in three loses a conflict', () => {
  test.each(CASES)(
    '%s %s: two instances apply every change once, answer after it is stored, and call it no trouble',
    async (code, moment) => {
      await startTwo();
      await holdsThroughConflicts(code, moment);
      expect(troubles).toEqual([]);
    },
  );
});

test('conflicts without end: changes fail as not applied, it is reported once a connection, and later ones are applied', async () => {
  await startTwo();
  const [service] = services as [CountsService];
  await service.api.internal.initialize('endless', 0n);
  await conflicts.start('40001', 'at the commit', 1);
  const unavailable = { code: 'database_unavailable' };
  await Promise.all([
    expect(service.api.external.increase('endless', 1n)).rejects.toMatchObject(unavailable),
    expect(service.api.external.increase('endless', 1n, 'endless-key')).rejects.toMatchObject(unavailable),
    expect(service.api.internal.initialize('never', 0n)).rejects.toMatchObject(unavailable),
    expect(service.api.internal.delete('endless', 'never-deleted')).rejects.toMatchObject(unavailable),
  ]);
  await conflicts.stop();
  expect(troubles.length).toBeGreaterThan(0);
  expect(troubles.length).toBeLessThanOrEqual(2);
  expect(troubles.map((error) => (error as { code: string }).code)).toContain('40001');
  expect(await database.valueOf('endless')).toBe(0n);
  expect(await database.valueOf('never')).toBeUndefined();
  expect((await service.api.external.increase('endless', 1n, 'endless-key')).value).toBe(1n);
});

describeWithPgBouncer('behind PgBouncer that pools transactions', () => {
  let bouncer: PgBouncer;

  beforeAll(async () => {
    bouncer = await PgBouncer.start(database.options, 3);
  });

  afterAll(() => bouncer.stop());

  test.each(CASES.slice(1, 3))('%s %s: the same holds', async (code, moment) => {
    await database.query('TRUNCATE count_values, count_requests, count_components');
    await startTwo(bouncer.options);
    await holdsThroughConflicts(code, moment);
  });
});
