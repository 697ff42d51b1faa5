import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TcpProxy } from '@quotadb/wire/proxy';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedPostgres } from './adapters/embedded/embedded-postgres.js';
import type { ConnectionOptions } from './adapters/postgres/connection.js';
import { type CountsService, createCountsService } from './service.js';
import { until } from './testing/until.js';

const run = promisify(execFile);

let folder: string;
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let standbyOptions: ConnectionOptions;
/** The address that stays the same in a failover, as a virtual IP or a DNS name does. */
let address: TcpProxy;
const socketOf = ({ host }: ConnectionOptions) => `${host}/.s.PGSQL.5432`;
let service: CountsService;

/** A primary whose commits wait for a standby that streams from it: what was acknowledged is on both. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quotadb-failover-'));
  const directory = (name: string) => join(folder, name);
  const first = new EmbeddedPostgres({ directory: directory('primary') });
  await first.start();
  await first.stop();
  await run('cp', ['-a', directory('primary'), directory('standby')]);
  await writeFile(join(directory('standby'), 'standby.signal'), '');
  primary = new EmbeddedPostgres({ directory: directory('primary'), settings: ['synchronous_standby_names=*'] });
  const options = await primary.start();
  const source = `primary_conninfo=host=${options.host} user=${options.user}`;
  standby = new EmbeddedPostgres({ directory: directory('standby'), settings: [source] });
  standbyOptions = await standby.start();
  address = await TcpProxy.open(socketOf(options));
  service = createCountsService({ postgres: { ...options, host: '127.0.0.1', port: address.port } });
  await service.ready();
}, 60_000);

afterAll(async () => {
  await service.stop();
  await address.close();
  await standby.stop();
  await primary.stop();
  await rm(folder, { recursive: true });
});

/** Increases from many callers until the test stops them, and the outcome of each. */
function startLoad(itemId: string, keyed: boolean) {
  const tally = { applied: 0, refused: 0, unknown: 0 };
  let running = true;
  let sent = 0;
  const workers = Array.from({ length: 40 }, async () => {
    while (running) {
      try {
        await service.api.external.increase(itemId, 1n, keyed ? `${itemId}-${sent++}` : undefined);
        tally.applied++;
      } catch (error) {
        const { code } = error as { code?: string };
        if (code === 'outcome_unknown') tally.unknown++;
        else if (code === 'database_unavailable') tally.refused++;
        else throw error;
      }
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

test('the primary dies and its standby takes over: no acknowledged change is missing, none is doubled', async () => {
  await service.api.internal.initialize('plain', 0n);
  await service.api.internal.initialize('keyed', 0n);
  const loads = { plain: startLoad('plain', false), keyed: startLoad('keyed', true) };
  const { plain, keyed } = loads;
  await until(() => plain.tally.applied > 500 && keyed.tally.applied > 500);
  process.kill(primary.pid!, 'SIGQUIT');
  await until(() => primary.pid === undefined);
  // For a while there is only a server that reads: it refuses changes, and says so.
  address.target = socketOf(standbyOptions);
  await until(() => plain.tally.refused > 0 && keyed.tally.refused > 0);
  const session = new pg.Client(standbyOptions);
  await session.connect();
  await session.query('SELECT pg_promote()');
  const before = { plain: plain.tally.applied, keyed: keyed.tally.applied };
  await until(() => plain.tally.applied > before.plain + 500 && keyed.tally.applied > before.keyed + 500);
  await Promise.all([plain.stop(), keyed.stop()]);
  const { rows } = await session.query<{ item_id: string; current_value: string }>(
    'SELECT item_id, current_value FROM count_values',
  );
  await session.end();
  for (const { item_id: itemId, current_value: value } of rows) {
    const { applied, unknown } = loads[itemId as keyof typeof loads].tally;
    expect(Number(value), itemId).toBeGreaterThanOrEqual(applied);
    expect(Number(value), itemId).toBeLessThanOrEqual(applied + unknown);
  }
  expect(rows).toHaveLength(2);
}, 60_000);
