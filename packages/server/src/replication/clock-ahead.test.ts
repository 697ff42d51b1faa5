import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Configuration } from '@quotadb/config';
import { type Clock, GuardedClock, systemClock } from '@quotadb/resp';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createServer } from '../lifecycle/create-server.js';
import type { Server } from '../lifecycle/server.js';
import { eventually, TestClient } from '../testing/index.js';

const ELEVEN_YEARS_MS = 11.5 * 365.25 * 86_400_000;
const HOUR_MS = 3_600_000;

let directory: string;
let lines: string;
const running: Region[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
  lines = '';
});
afterEach(async () => {
  for (const region of [...running]) await stop(region);
  await rm(directory, { recursive: true });
});

interface Region {
  readonly server: Server;
  readonly client: TestClient;
  /** How far its clock is ahead, which can change while it runs. */
  readonly clock: { aheadOfMs: number };
}

/** The clock is followed wherever it jumps, unless it is guarded. */
async function start(
  region: string,
  aheadOfMs: number,
  peers: Configuration['peers'] = [],
  guard: (source: Clock) => Clock = (source) => source,
): Promise<Region> {
  const clock = { ...systemClock, aheadOfMs, now: () => Date.now() + clock.aheadOfMs };
  const stream = new Writable({
    write: (line, _, done) => {
      lines += line;
      done();
    },
  });
  const settings: Partial<Configuration> = {
    region,
    peers,
    respPort: 0,
    httpPort: 0,
    replicationPort: 0,
    maxMemoryBytes: 32 * 1024 * 1024,
    transport: 'net',
    dataDirectory: join(directory, region),
  };
  const server = createServer(settings, { clock: guard(clock), logger: pino({ level: 'warn' }, stream) });
  await server.start();
  const started = { server, client: await TestClient.open(server.state.identity.respPort), clock };
  running.push(started);
  return started;
}

async function stop(region: Region): Promise<void> {
  running.splice(running.indexOf(region), 1);
  region.client.close();
  await region.server.stop();
}

function peerOf({ server }: Region, region: string): Configuration['peers'] {
  return [{ region, host: '127.0.0.1', port: server.state.identity.replicationPort as number }];
}

async function agreeOn(regions: readonly Region[], key: string, value: string): Promise<void> {
  await eventually(async () => {
    for (const { client } of regions) expect(await client.call('GET', key)).toBe(`$${value.length}\r\n${value}\r\n`);
  });
}

const note = () => existsSync(join(directory, 'us', 'clock.json'));

test('a server that was in the future with peers: with its clock right again its counts reach them, expiries end', async () => {
  const eu = await start('eu', 0);
  let us = await start('us', 0, peerOf(eu, 'eu'));
  await us.client.call('INCRBY', 'total', 10);
  await eu.client.call('INCRBY', 'total', 5);
  await eu.client.call('SET', 'theirs', 7, 'EX', 3600);
  await agreeOn([us, eu], 'total', '15');
  await agreeOn([us, eu], 'theirs', '7');
  us.clock.aheadOfMs = ELEVEN_YEARS_MS;
  for (let count = 0; count < 100; count++) await us.client.call('INCR', 'total');
  await us.client.call('SET', 'short', 1, 'EX', 5);
  await us.client.call('SET', 'long', 1, 'EX', 3600);
  await eventually(() => expect(note()).toBe(true));
  expect(lines).toMatch(/the clock of this server is 11 years ahead .* Set the clock. Restart this server/);
  await eu.client.call('INCRBY', 'total', 1);
  await stop(us);
  us = await start('us', 0, peerOf(eu, 'eu'));
  expect(lines).toMatch(/was 11 years ahead of what it is now. It is dated anew/);
  await agreeOn([us, eu], 'total', '116');
  await agreeOn([us, eu], 'theirs', '7');
  await agreeOn([us, eu], 'long', '1');
  for (const { client } of [us, eu]) {
    const left = Number(/-?\d+/.exec(await client.call('PTTL', 'long')));
    expect(left).toBeGreaterThan(HOUR_MS - 60_000);
    expect(left).toBeLessThanOrEqual(HOUR_MS);
    await eventually(async () => expect(await client.call('EXISTS', 'short')).toBe(':0\r\n'));
  }
  expect(note()).toBe(false);
  // It is the same incarnation, and goes on as before: also after the next start, from the snapshot of the last one.
  await us.client.call('INCR', 'total');
  await agreeOn([us, eu], 'total', '117');
  await stop(us);
  us = await start('us', 0, peerOf(eu, 'eu'));
  await us.client.call('INCR', 'total');
  await agreeOn([us, eu], 'total', '118');
  expect(lines).not.toMatch(/older than what its peers hold/);
});

test('without proof that the clock was ahead the data stays; peers prove it, and the next start dates it anew', async () => {
  const eu = await start('eu', 0);
  let us = await start('us', 0, peerOf(eu, 'eu'));
  await us.client.call('INCRBY', 'total', 10);
  await agreeOn([us, eu], 'total', '10');
  await stop(us);
  // In the future without a link.
  us = await start('us', ELEVEN_YEARS_MS, [{ region: 'eu', host: '127.0.0.1', port: 9 }]);
  await us.client.call('INCRBY', 'total', 100);
  await stop(us);
  expect(note()).toBe(false);
  us = await start('us', 0, peerOf(eu, 'eu'));
  expect(lines).toMatch(/was 11 years ahead of what it is now: the time of this server stands still/);
  await eventually(() => expect(note()).toBe(true));
  expect(lines).toMatch(/the data of this server is dated 11 years ahead .* refuse its changes. Restart this server/);
  const readiness = () => fetch(`http://127.0.0.1:${us.server.state.identity.httpPort}/readyz`);
  expect(await (await readiness()).text()).toMatch(/"detail":"The time of this server is 11 years ahead/);
  expect(await eu.client.call('GET', 'total')).toBe('$2\r\n10\r\n');
  await stop(us);
  us = await start('us', 0, peerOf(eu, 'eu'));
  await agreeOn([us, eu], 'total', '110');
  expect((await readiness()).status).toBe(200);
});

test('a clock that is behind at a start is not taken for data that is ahead', async () => {
  const eu = await start('eu', 0);
  let us = await start('us', 0, peerOf(eu, 'eu'));
  await us.client.call('INCRBY', 'total', 10);
  await agreeOn([us, eu], 'total', '10');
  await stop(us);
  us = await start('us', -HOUR_MS, peerOf(eu, 'eu'));
  await us.client.call('INCR', 'total');
  await agreeOn([us, eu], 'total', '11');
  expect(lines).not.toMatch(/dated anew: \d/);
  expect(note()).toBe(false);
});

test('a server without peers is dated anew by its clock alone', async () => {
  let us = await start('us', ELEVEN_YEARS_MS);
  await us.client.call('INCRBY', 'total', 100);
  await us.client.call('SET', 'short', 1, 'PX', 1500);
  await stop(us);
  us = await start('us', 0);
  expect(await us.client.call('GET', 'total')).toBe('$3\r\n100\r\n');
  expect(us.server.engine.nowMs).toBeLessThan(Date.now() + 1000);
  await eventually(async () => expect(await us.client.call('EXISTS', 'short')).toBe(':0\r\n'));
});

test('quotas that were defined or dropped in the future are dated anew too', async () => {
  let us = await start('us', ELEVEN_YEARS_MS);
  const define = (name: string, limit: number, window: number | 'NONE') =>
    us.client.call('QUOTA.DEFINE', name, 'LIMIT', limit, 'WINDOW', window);
  expect(await define('calls', 10, 60_000)).toBe('+OK\r\n');
  expect(await define('seats', 10, 'NONE')).toBe('+OK\r\n');
  expect(await us.client.call('QUOTA.TAKE', 'seats', 's', 4)).toMatch(/^\*5\r\n:1\r\n/);
  await us.client.call('QUOTA.DROP', 'calls');
  await stop(us);
  us = await start('us', 0);
  expect(await define('calls', 20, 60_000)).toBe('+OK\r\n');
  expect(await us.client.call('QUOTA.TAKE', 'seats', 's', 6)).toMatch(/^\*5\r\n:1\r\n/);
  expect(await us.client.call('QUOTA.TAKE', 'seats', 's', 1)).toMatch(/^\*5\r\n:0\r\n/);
});

test('a running server does not follow its clock into the future: nothing changes, /readyz and the log name it', async () => {
  const eu = await start('eu', 0);
  const guard = (source: Clock) => new GuardedClock({ source, skewBoundMs: 120_000 });
  const us = await start('us', 0, peerOf(eu, 'eu'), guard);
  const ask = (path: string) => fetch(`http://127.0.0.1:${us.server.state.identity.httpPort}${path}`);
  await us.client.call('INCRBY', 'total', 10);
  await agreeOn([us, eu], 'total', '10');
  us.clock.aheadOfMs = ELEVEN_YEARS_MS;
  await us.client.call('INCR', 'total');
  await us.client.call('SET', 'short', 1, 'PX', 1500);
  await agreeOn([us, eu], 'total', '11');
  const notReady = await ask('/readyz');
  expect(notReady.status).toBe(503);
  expect(await notReady.json()).toMatchObject({ detail: expect.stringContaining('jumped ahead by 11 years') });
  expect(await (await ask('/metrics')).text()).toMatch(/^quotadb_clock_jump_seconds 36\d{7}/m);
  await eventually(() => expect(lines).toMatch(/the clock of this server has jumped ahead by 11 years/));
  await agreeOn([us, eu], 'total', '11');
  for (const { client } of [us, eu])
    await eventually(async () => expect(await client.call('EXISTS', 'short')).toBe(':0\r\n'));
  expect(us.server.engine.nowMs).toBeLessThan(Date.now() + 1000);
  us.clock.aheadOfMs = 0;
  expect((await ask('/readyz')).status).toBe(200);
  await us.client.call('INCR', 'total');
  await agreeOn([us, eu], 'total', '12');
  expect(note()).toBe(false);
  // The clocks of both were behind, and are set.
  eu.clock.aheadOfMs = HOUR_MS;
  us.clock.aheadOfMs = HOUR_MS;
  await eventually(() => expect(us.server.engine.nowMs).toBeGreaterThan(Date.now() + HOUR_MS - 60_000));
  expect((await ask('/readyz')).status).toBe(200);
});
