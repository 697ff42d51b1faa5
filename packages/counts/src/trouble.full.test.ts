import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MAX_QUEUED_CHANGES, STATEMENT_TIMEOUT_MS } from './adapters/postgres/bounds.js';
import { type CountsService, createCountsService } from './service.js';
import { TestDatabase } from './testing/test-database.js';
import { TestServer } from './testing/test-server.js';
import { until } from './testing/until.js';

let database: TestDatabase;
let service: CountsService;
let server: TestServer;

beforeAll(async () => {
  database = await TestDatabase.start();
});

afterAll(() => database.stop());

beforeEach(async () => {
  service = createCountsService({ postgres: database.options });
  server = await TestServer.start(service);
});

afterEach(async () => {
  await server.stop();
  await service.stop();
});

const create = (itemId: string, initialValue = 0n) => service.api.internal.initialize(itemId, initialValue);
const increase = (itemId: string, headers: Record<string, string> = {}) =>
  server.call('POST', `/api/v1/counts/${itemId}/increase`, { headers });

/** Increases from several connections until the test stops them, and the outcome of each. */
function startLoad(itemId: string, keyed: boolean) {
  const tally = { applied: 0, refused: 0, unknown: 0, other: [] as string[] };
  let running = true;
  let sent = 0;
  const workers = Array.from({ length: 40 }, async () => {
    while (running) {
      const answer = await increase(itemId, keyed ? { 'Idempotency-Key': `${itemId}-${sent++}` } : {});
      if (answer.status === 200) tally.applied++;
      else if (answer.json.code === 'database_unavailable' || answer.json.code === 'overloaded') tally.refused++;
      else if (answer.json.code === 'outcome_unknown') tally.unknown++;
      else tally.other.push(answer.text);
    }
  });
  return {
    tally,
    async stop() {
      running = false;
      await Promise.all(workers);
    },
  };
}

describe('the database goes away in mid-load', () => {
  test('sessions killed again and again: every acknowledged change is there, none twice, and it recovers', async () => {
    await create('killed');
    const load = startLoad('killed', false);
    for (let round = 1; round <= 8; round++) {
      const before = load.tally.applied;
      await until(() => load.tally.applied > before + 200);
      await database.killSessions();
    }
    await load.stop();
    const { applied, unknown, other } = load.tally;
    expect(other).toEqual([]);
    const value = Number(await database.valueOf('killed'));
    expect(value).toBeGreaterThanOrEqual(applied);
    expect(value).toBeLessThanOrEqual(applied + unknown);
  });

  test('with idempotency keys a killed session goes unnoticed: all applied, exactly once', async () => {
    await create('killed-keyed');
    const load = startLoad('killed-keyed', true);
    for (let round = 1; round <= 5; round++) {
      const before = load.tally.applied;
      await until(() => load.tally.applied > before + 100);
      await database.killSessions();
    }
    await load.stop();
    const { applied, refused, unknown, other } = load.tally;
    expect({ refused, unknown, other }).toEqual({ refused: 0, unknown: 0, other: [] });
    expect(await database.valueOf('killed-keyed')).toBe(BigInt(applied));
  });

  test('the server crashes and comes back: no acknowledged change is missing, none is doubled, no restart of ours', async () => {
    await create('crashed');
    const load = startLoad('crashed', false);
    for (let round = 1; round <= 2; round++) {
      const before = load.tally.applied;
      await until(() => load.tally.applied > before + 300);
      await database.crash();
      await database.restart();
    }
    const after = load.tally.applied;
    await until(() => load.tally.applied > after + 300);
    await load.stop();
    const { applied, unknown, other } = load.tally;
    expect(other).toEqual([]);
    const value = Number(await database.valueOf('crashed'));
    expect(value).toBeGreaterThanOrEqual(applied);
    expect(value).toBeLessThanOrEqual(applied + unknown);
  });

  test('while it is away changes are refused as not applied, with Retry-After, and reads too', async () => {
    await create('away');
    await database.crash();
    const [changed, read, created] = await Promise.all([
      increase('away'),
      server.call('GET', '/api/v1/internal/counts/away'),
      server.call('POST', '/api/v1/internal/counts', { body: { itemId: 'away-new' } }),
    ]);
    for (const answer of [changed, read, created]) {
      expect([answer.status, answer.json.code, answer.headers['retry-after']]).toEqual([
        503,
        'database_unavailable',
        '1',
      ]);
    }
    await database.restart();
    await until(async () => (await increase('away')).status === 200);
    expect(await database.valueOf('away')).toBe(1n);
    expect((await server.call('GET', '/api/v1/internal/counts/away')).json.currentValue).toBe(1);
    expect(await database.valueOf('away-new')).toBeUndefined();
  });
});

test('a service that starts before its database waits for it', async () => {
  await database.crash();
  const early = increase('early');
  await database.restart();
  // On a very slow machine the first one may have had to give up.
  expect([404, 503]).toContain((await early).status);
  expect((await increase('early')).status).toBe(404);
});

test('more waiting changes than the queue holds are refused at once, and the others are served', async () => {
  await create('crowded');
  const holder = await database.connect();
  await holder.query('BEGIN');
  await holder.query("SELECT * FROM count_values WHERE item_id = 'crowded' FOR UPDATE");
  const outcomes = Array.from({ length: MAX_QUEUED_CHANGES + 5_000 }, () =>
    service.api.external.increase('crowded', 1n).then(
      () => 'applied',
      (error: { code: string }) => error.code,
    ),
  );
  // The others wait for the row, and no longer than their deadline: the row is free as soon as one was refused.
  await outcomes[MAX_QUEUED_CHANGES];
  await holder.query('COMMIT');
  await holder.end();
  const all = await Promise.all(outcomes);
  expect(new Set(all.slice(MAX_QUEUED_CHANGES))).toEqual(new Set(['overloaded']));
  const applied = all.filter((outcome) => outcome === 'applied').length;
  expect(applied).toBeGreaterThan(0);
  expect(await database.valueOf('crowded')).toBe(BigInt(applied));
});

test('a row that another session keeps locked holds up no other, and its own changes fail as not applied', async () => {
  await create('held');
  await Promise.all(Array.from({ length: 50 }, (_, index) => create(`free-${index}`)));
  const holder = await database.connect();
  await holder.query('BEGIN');
  await holder.query("SELECT * FROM count_values WHERE item_id = 'held' FOR UPDATE");
  let heldIsOpen = true;
  const held = Promise.all([increase('held'), increase('held'), increase('held')]).finally(() => {
    heldIsOpen = false;
  });
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => increase(`free-${index}`)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  }
  expect(heldIsOpen).toBe(true);
  expect((await held).map(({ json }) => json.code)).toEqual(Array.from({ length: 3 }, () => 'database_unavailable'));
  await holder.query('ROLLBACK');
  await holder.end();
  expect((await increase('held')).json.value).toBe(1);
});

test('a few changes do not wait behind a statement that takes long: they go beside it', async () => {
  await create('stuck');
  await create('beside');
  const holder = await database.connect();
  await holder.query('BEGIN');
  await holder.query("SELECT * FROM count_values WHERE item_id IN ('stuck', 'beside') FOR UPDATE");
  const stuck = increase('stuck');
  await until(() => service.figures().statementsInFlight === 1);
  const beside = increase('beside');
  await until(() => service.figures().statementsInFlight === 2);
  await holder.query('ROLLBACK');
  await holder.end();
  expect([(await stuck).status, (await beside).status]).toEqual([200, 200]);
});

test('a row locked for a moment only delays its own changes', async () => {
  await create('delayed');
  const holder = await database.connect();
  await holder.query('BEGIN');
  await holder.query("SELECT * FROM count_values WHERE item_id = 'delayed' FOR UPDATE");
  const answer = increase('delayed');
  await until(async () => (await waitingSessions()) > 0);
  await holder.query('COMMIT');
  await holder.end();
  expect((await answer).json.value).toBe(1);
});

test('a database that only reads (a standby after a failover) refuses changes as not applied, until it writes again', async () => {
  await create('standby');
  await increase('standby');
  await database.query("ALTER SYSTEM SET default_transaction_read_only = 'on'");
  await database.query('SELECT pg_reload_conf()');
  await until(async () => (await increase('standby')).status === 503);
  expect((await server.call('GET', '/api/v1/internal/counts/standby')).status).toBe(200);
  await database.query('SET default_transaction_read_only = off');
  await database.query('ALTER SYSTEM RESET default_transaction_read_only');
  await database.query('SELECT pg_reload_conf()');
  await until(async () => (await increase('standby')).status === 200);
});

test('a database out of connections is waited for', async () => {
  await create('exhausted');
  await database.killSessions();
  const others = [];
  for (;;) {
    const other = await database.connect().catch(() => undefined);
    if (other === undefined) break;
    others.push(other);
  }
  const answer = increase('exhausted');
  await Promise.all(others.map((other) => other.end()));
  expect((await answer).json.value).toBe(1);
});

test('a deadlock with a stranger’s transaction is survived, and the changes are applied once', async () => {
  await create('dead-a');
  await create('dead-b');
  for (let round = 1; round <= 3; round++) {
    const stranger = await database.connect();
    await stranger.query("SET deadlock_timeout = '20ms'");
    await stranger.query('BEGIN');
    await stranger.query("UPDATE count_values SET current_value = current_value + 100 WHERE item_id = 'dead-b'");
    const answers = Promise.all([increase('dead-a'), increase('dead-b')]);
    await until(async () => (await waitingSessions()) > 0);
    await stranger
      .query("UPDATE count_values SET current_value = current_value + 100 WHERE item_id = 'dead-a'")
      .catch(() => undefined);
    await stranger.query('ROLLBACK');
    await stranger.end();
    expect((await answers).map(({ json }) => json.value)).toEqual([round, round]);
  }
});

test.each(['repeatable read', 'serializable'])(
  'serialization failures are not applied and sent again: instances at %s stay exact',
  async (isolation) => {
    const itemId = `strict at ${isolation}`;
    await create(itemId);
    await database.query(`ALTER SYSTEM SET default_transaction_isolation = '${isolation}'`);
    await database.query('SELECT pg_reload_conf()');
    const services = [0, 1].map(() => createCountsService({ postgres: database.options }));
    try {
      const failures = async () => {
        const [row] = await database.query<{ rolled_back: string }>(
          'SELECT xact_rollback AS rolled_back FROM pg_stat_database WHERE datname = current_database()',
        );
        return Number(row!.rolled_back);
      };
      const before = await failures();
      let expected = 0n;
      // Until the instances have been in each other's way.
      while ((await failures()) === before) {
        const changes = Array.from({ length: 200 }, (_, index) =>
          services[index % 2]!.api.external.increase(itemId, 1n),
        );
        const settled = await Promise.allSettled(changes);
        expected += BigInt(settled.filter(({ status }) => status === 'fulfilled').length);
        const refusals = settled.filter((result) => result.status === 'rejected').map(({ reason }) => reason.code);
        expect(refusals.every((code) => code === 'database_unavailable')).toBe(true);
      }
      expect(await database.valueOf(itemId)).toBe(expected);
    } finally {
      for (const each of services) await each.stop();
      await database.query('ALTER SYSTEM RESET default_transaction_isolation');
      await database.query('SELECT pg_reload_conf()');
    }
  },
);

test('a statement that takes too long is given up by the database, and its changes fail as not applied', async () => {
  await create('slow');
  await database.query(
    `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN PERFORM pg_sleep(${STATEMENT_TIMEOUT_MS / 1_000 + 5}); RETURN NEW; END $$`,
  );
  await database.query(
    "CREATE TRIGGER dawdle BEFORE UPDATE ON count_values FOR EACH ROW WHEN (OLD.item_id = 'slow') EXECUTE FUNCTION dawdle()",
  );
  const answer = await increase('slow');
  expect([answer.status, answer.json.code]).toEqual([503, 'database_unavailable']);
  await database.query('DROP TRIGGER dawdle ON count_values');
  expect((await increase('slow')).json.value).toBe(1);
});

test('data that the database refuses spoils nothing but its own change', async () => {
  await create('spoiled');
  await Promise.all(Array.from({ length: 20 }, (_, index) => create(`sound-${index}`)));
  await database.query(
    "ALTER TABLE count_values ADD CONSTRAINT small CHECK (item_id <> 'spoiled' OR current_value < 5)",
  );
  const sound = Array.from({ length: 20 }, (_, index) => increase(`sound-${index}`));
  const spoiled = Array.from({ length: 10 }, () => increase('spoiled'));
  expect((await Promise.all(sound)).every(({ status }) => status === 200)).toBe(true);
  const outcomes = (await Promise.all(spoiled)).map(({ status, json }) => (status === 200 ? json.value : json.code));
  await database.query('ALTER TABLE count_values DROP CONSTRAINT small');
  expect(outcomes.sort()).toEqual([1, 2, 3, 4, ...Array.from({ length: 6 }, () => 'change_refused')]);
  expect(await database.valueOf('spoiled')).toBe(4n);
});

test('a service that is stopped finishes what it has accepted', async () => {
  await create('finished');
  const own = createCountsService({ postgres: database.options });
  const changes = Array.from({ length: 500 }, () => own.api.external.increase('finished', 1n));
  await own.stop();
  expect(await Promise.all(changes)).toHaveLength(500);
  expect(await database.valueOf('finished')).toBe(500n);
  await expect(own.api.external.increase('finished', 1n)).rejects.toMatchObject({ code: 'database_unavailable' });
});

async function waitingSessions(): Promise<number> {
  const [row] = await database.query<{ waiting: number }>(
    "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE application_name = 'quotadb-counts' AND wait_event_type = 'Lock'",
  );
  return row!.waiting;
}
