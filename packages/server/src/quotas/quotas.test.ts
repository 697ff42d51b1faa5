import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { systemClock } from '@quotadb/resp';
import { afterEach, expect, test } from 'vitest';
import { eventually, HeldDisk, startTestServer, TestClient, type TestServer } from '../testing/index.js';

const HOUR_MS = 3_600_000;
const opened: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop();
});

async function serve(settings: Partial<Configuration> = {}): Promise<{ server: TestServer; client: TestClient }> {
  const server = await startTestServer(settings);
  opened.push(server);
  return { server, client: await connect(server) };
}

async function connect(server: TestServer): Promise<TestClient> {
  const client = await TestClient.open(server.port);
  opened.push({ stop: async () => client.close() });
  return client;
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'quotadb-quotas-'));
  opened.push({ stop: () => rm(path, { recursive: true, force: true }) });
  return path;
}

function numbers(reply: string): number[] {
  expect(reply[0]).toBe('*');
  return [...reply.matchAll(/^:(-?\d+)\r$/gm)].map(([, digits]) => Number(digits));
}

async function isAllowed(client: TestClient, ...words: (string | number)[]): Promise<boolean> {
  return numbers(await client.call('QUOTA.TAKE', ...words))[0] === 1;
}

async function countAllowed(client: TestClient, calls: number): Promise<number> {
  let allowed = 0;
  for (let call = 0; call < calls; call++) if (await isAllowed(client, 'calls', 'alice', 1)) allowed++;
  return allowed;
}

test.each(['memory', 'disk'])('exactly the limit is allowed, from many connections at once, in %s', async (mode) => {
  const { server, client } = await serve(mode === 'disk' ? { dataDirectory: await directory() } : {});
  expect(await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS)).toBe('+OK\r\n');
  const clients = await Promise.all(Array.from({ length: 10 }, () => connect(server)));
  const counts = await Promise.all(clients.map((each) => countAllowed(each, 30)));
  expect(counts.reduce((sum, count) => sum + count)).toBe(100);
  const [here, everywhere, resetMs] = numbers(await client.call('QUOTA.PEEK', 'calls', 'alice'));
  expect([here, everywhere]).toEqual([0, 0]);
  expect(resetMs).toBeGreaterThan(0);
  expect(await isAllowed(client, 'calls', 'bob', 100)).toBe(true);
});

test('a reply says what is left, when the window is over and when to try again', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  const [allowed, here, everywhere, resetMs, retryAfterMs] = numbers(await client.call('QUOTA.TAKE', 'calls', 's', 4));
  expect([allowed, here, everywhere, retryAfterMs]).toEqual([1, 6, 6, 0]);
  expect(resetMs).toBeLessThanOrEqual(HOUR_MS);
  const denied = numbers(await client.call('QUOTA.TAKE', 'calls', 's', 7));
  expect(denied.slice(0, 3)).toEqual([0, 6, 6]);
  expect(denied[4]).toBe(denied[3]);
  // Denied calls burn nothing.
  expect(await isAllowed(client, 'calls', 's', 6)).toBe(true);
});

test('a new window begins with the limit', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 1, 'WINDOW', '200ms');
  const until = Date.now() + 20_000;
  let allowed = 0;
  const windows = new Set<number>();
  while (allowed < 3 && Date.now() < until) {
    const before = Math.floor(Date.now() / 200);
    if (!(await isAllowed(client, 'calls', 's', 1))) continue;
    allowed++;
    // It was decided between these two readings of the clock: its window is known where both are in the same one.
    const after = Math.floor(Date.now() / 200);
    if (before !== after) continue;
    expect(windows.has(after)).toBe(false);
    windows.add(after);
  }
  expect(allowed).toBe(3);
});

test('what makes no sense gets an error that says why', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  expect(await client.call('QUOTA.TAKE', 'other', 's', 1)).toMatch(/^-ERR there is no quota 'other'/);
  for (const cost of [0, -1, 'x', '1.5']) {
    expect(await client.call('QUOTA.TAKE', 'calls', 's', cost)).toBe(
      `-ERR a cost is a whole number of at least 1, not '${cost}'\r\n`,
    );
  }
  expect(await client.call('QUOTA.TAKE', 'calls', 'x'.repeat(1025), 1)).toMatch(
    /^-ERR a subject has at most 1024 bytes/,
  );
  expect(await client.call('QUOTA.PEEK', 'calls', 'x'.repeat(1025))).toMatch(/^-ERR a subject has at most 1024 bytes/);
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1, 'WAIT')).toMatch(
    /^-ERR syntax error: nothing comes after 'WAIT'/,
  );
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1, 'SOON')).toMatch(
    /^-ERR syntax error: 'SOON', argument 4, is not understood here: WAIT duration and ID token may follow/,
  );
  expect(await client.call('QUOTA.TAKE', 'calls', 's')).toMatch(
    /^-ERR wrong number of arguments for 'quota.take' command: QUOTA.TAKE name subject cost/,
  );
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1, 'WAIT', '10ms')).toMatch(/^\*5/);
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1, 'WAIT', -1)).toMatch(
    /^-ERR WAIT is no duration or out of range: '-1'/,
  );
  expect(await client.call('QUOTA.DEFINE', 'a', 'LIMIT', -1, 'WINDOW', '1ms')).toMatch(
    /^-ERR a limit is a whole number/,
  );
  expect(await client.call('QUOTA.DEFINE', 'a', 'LIMIT', 1, 'WINDOW', 'x')).toMatch(/^-ERR 'x' is no WINDOW: give/);
  expect(await client.call('QUOTA.DEFINE', 'a', 'LIMIT', 1, 'WINDOW', '5ms', 'SOON')).toMatch(
    /^-ERR 'SOON' is not understood/,
  );
  expect(await client.call('QUOTA.DEFINE', 'a', 'LIMIT', 1, 'WINDOW', 'NONE')).toMatch(/needs a disk in region local/);
  expect(await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 1, 'WINDOW', '5ms')).toMatch(
    /the window of a policy cannot/,
  );
  expect(await client.call('QUOTA.LIST')).toBe('*1\r\n$5\r\ncalls\r\n');
});

test('raising a limit takes effect at once, lowering it takes what is left', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 2, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 2)).toBe(true);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 5, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 3)).toBe(true);
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 1, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
});

test('a quota that is dropped and defined again gives no tokens of its window a second time', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 1, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(true);
  expect(await client.call('QUOTA.DROP', 'calls')).toBe(':1\r\n');
  expect(await client.call('QUOTA.DROP', 'calls')).toBe(':0\r\n');
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1)).toMatch(/^-ERR there is no quota/);
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 3, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 3)).toBe(false);
  expect(await isAllowed(client, 'calls', 's', 2)).toBe(true);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
  // Another one of its name cannot know what was used: it begins with its next window.
  await client.call('QUOTA.DROP', 'calls');
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 3, 'WINDOW', 2 * HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
  expect(await client.call('QUOTA.INFO', 'calls')).toContain('starts-here\r\n:0\r\n');
});

test('what was spent stays spent over a restart, and what was not is not lost', async () => {
  const dataDirectory = await directory();
  const first = await serve({ dataDirectory });
  await first.client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
  await first.client.call('QUOTA.DEFINE', 'seats', 'LIMIT', 10, 'WINDOW', 'NONE');
  expect(await isAllowed(first.client, 'calls', 's', 30)).toBe(true);
  expect(await isAllowed(first.client, 'seats', 's', 4)).toBe(true);
  await first.server.stop();
  const { client } = await serve({ dataDirectory });
  expect(await isAllowed(client, 'calls', 's', 71)).toBe(false);
  expect(await isAllowed(client, 'calls', 's', 70)).toBe(true);
  expect(await isAllowed(client, 'seats', 's', 7)).toBe(false);
  expect(await isAllowed(client, 'seats', 's', 6)).toBe(true);
});

test('inside MULTI a take does not wait: it spends the local balance', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(true);
  await client.call('MULTI');
  await client.call('QUOTA.TAKE', 'calls', 's', 1);
  await client.call('QUOTA.TAKE', 'calls', 'a new subject', 1);
  const [, ...results] = (await client.call('EXEC')).split('*5\r\n');
  expect(results.map((result) => numbers(`*\r\n${result}`)[0])).toEqual([1, 0]);
});

test('a damaged file of policies is said, and nothing starts', async () => {
  const dataDirectory = await directory();
  const { server, client } = await serve({ dataDirectory });
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 1, 'WINDOW', HOUR_MS);
  await server.stop();
  const path = join(dataDirectory, 'quotas.json');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.slice(0, -20));
  await expect(startTestServer({ dataDirectory })).rejects.toThrow(/quotas\.json is damaged/);
  // One digit of the limit.
  await writeFile(path, text.replace('"limit":1', '"limit":9'));
  await expect(startTestServer({ dataDirectory })).rejects.toThrow(/its checksum is wrong.*quotas\.previous\.json/s);
  // Without the file the replica does not know how much it gave out: it starts without tokens.
  await rm(path);
  const { client: after } = await serve({ dataDirectory });
  expect(await after.call('QUOTA.LIST')).toBe('*0\r\n');
});

test('without quotas.json the policies before their last change are there, and nothing is given out twice', async () => {
  const dataDirectory = await directory();
  const { server, client } = await serve({ dataDirectory });
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 5, 'WINDOW', HOUR_MS);
  await client.call('QUOTA.DEFINE', 'more', 'LIMIT', 1, 'WINDOW', HOUR_MS);
  expect(await isAllowed(client, 'calls', 's', 5)).toBe(true);
  await server.stop();
  await rename(join(dataDirectory, 'quotas.json'), join(dataDirectory, 'quotas.damaged.json'));
  const { client: after } = await serve({ dataDirectory });
  expect(await after.call('QUOTA.LIST')).toBe('*1\r\n$5\r\ncalls\r\n');
  expect(await isAllowed(after, 'calls', 's', 1)).toBe(false);
  expect(await after.call('QUOTA.HOME')).toContain('written-here\r\n:0\r\n');
  expect(await after.call('QUOTA.HOME', 'KEEP')).toBe('+OK\r\n');
  expect(await after.call('QUOTA.HOME')).toContain('written-here\r\n:1\r\n');
  expect(await after.call('QUOTA.HOME', 'TAKE', 'eu')).toMatch(/^-ERR region eu has sent no policies/);
});

test('the regions of --mesh are peers in every way: the first of them by name is the home', async () => {
  const mesh = ['us', 'eu'].map((region) => ({ region, host: '127.0.0.1', port: 1 }));
  const { client } = await serve({ region: 'us', mesh, replicationPort: 0 });
  expect(await client.call('QUOTA.HOME')).toContain('home\r\n$2\r\neu\r\n');
  expect(await client.call('REPL.PEERS', 'LIST')).toContain('eu');
});

test('a request that waits for tokens when the server stops gets that as the reason', async () => {
  const disk = new HeldDisk();
  const server = await startTestServer({ dataDirectory: await directory() }, systemClock, disk);
  const client = await connect(server);
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 5, 'WINDOW', HOUR_MS);
  disk.hold();
  const taken = client.call('QUOTA.TAKE', 'calls', 's', 1);
  await eventually(async () => expect(disk.waiting).toBeGreaterThan(0));
  const stopped = server.stop();
  expect(await taken).toMatch(/^-ERR the server is stopping/);
  disk.release();
  await stopped;
});

function idIn(reply: string): string {
  return /\$\d+\r\n(\S+@\S+)\r\n/.exec(reply)?.[1] ?? '';
}

test.each([100, 'always'] as const)(
  'reservations, leases and the ids of operations outlive a restart, fsync %s',
  async (fsync) => {
    const settings = { dataDirectory: await directory(), fsync };
    const { server, client } = await serve(settings);
    await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 100, 'WINDOW', HOUR_MS);
    await client.call('QUOTA.DEFINE', 'jobs', 'LIMIT', 1, 'LEASE', HOUR_MS);
    expect(await isAllowed(client, 'calls', 's', 10, 'ID', 'one')).toBe(true);
    const reserve = ['QUOTA.RESERVE', 'calls', 's', 20, 'TTL', HOUR_MS, 'ID', 'two'] as const;
    const reservation = idIn(await client.call(...reserve));
    const settled = idIn(await client.call('QUOTA.RESERVE', 'calls', 's', 30, 'TTL', HOUR_MS));
    expect(await client.call('QUOTA.COMMIT', settled, 5)).toBe('*2\r\n:5\r\n:0\r\n');
    const acquire = ['QUOTA.ACQUIRE', 'jobs', 's', 'TTL', HOUR_MS, 'ID', 'three'] as const;
    const lease = idIn(await client.call(...acquire));
    await server.stop();
    const { client: after } = await serve(settings);
    expect(await isAllowed(after, 'calls', 's', 10, 'ID', 'one')).toBe(true);
    expect(await after.call('QUOTA.TAKE', 'calls', 's', 11, 'ID', 'one')).toMatch(/used for another operation/);
    expect(idIn(await after.call(...reserve))).toBe(reservation);
    expect(idIn(await after.call(...acquire))).toBe(lease);
    expect(await after.call('QUOTA.COMMIT', settled, 5)).toBe('*2\r\n:5\r\n:0\r\n');
    expect(await after.call('QUOTA.COMMIT', reservation, 7)).toBe('*2\r\n:7\r\n:0\r\n');
    // 10 + 7 + 5 are used: nothing was charged twice, and nothing is lost.
    await eventually(async () => expect(await isAllowed(after, 'calls', 's', 78)).toBe(true));
    expect(await isAllowed(after, 'calls', 's', 1)).toBe(false);
    expect(numbers(await after.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 1000))[0]).toBe(0);
    expect(await after.call('QUOTA.RELEASE', lease)).toBe(':1\r\n');
    expect(numbers(await after.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 1000))[0]).toBe(1);
  },
);

test('a quota of the configuration is there, and in memory begins with its next window', async () => {
  const definition = { name: 'calls', limit: 5, windowMs: HOUR_MS, allocator: undefined, shares: [], waitMs: 1000 };
  const { client: inMemory } = await serve({ quotas: [definition] });
  expect(await inMemory.call('QUOTA.LIST')).toBe('*1\r\n$5\r\ncalls\r\n');
  expect(await isAllowed(inMemory, 'calls', 's', 1)).toBe(false);
  expect(await inMemory.call('QUOTA.INFO', 'calls')).toContain('starts-here\r\n:0\r\n');
  const { client: onDisk } = await serve({ quotas: [definition], dataDirectory: await directory() });
  expect(await isAllowed(onDisk, 'calls', 's', 5)).toBe(true);
  expect(await isAllowed(onDisk, 'calls', 's', 1)).toBe(false);
});

test('several limits at once: all or none, and nothing leaks', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'user', 'LIMIT', 5, 'WINDOW', HOUR_MS);
  await client.call('QUOTA.DEFINE', 'team', 'LIMIT', 8, 'WINDOW', HOUR_MS);
  const both = (user: string) => client.call('QUOTA.TAKEALL', 2, 'user', user, 3, 'team', 't', 3);
  expect(numbers(await both('a'))[0]).toBe(1);
  expect(numbers(await both('b'))[0]).toBe(1);
  // The team has 2 left: neither the user nor the team is charged.
  expect(numbers(await both('c'))[0]).toBe(0);
  expect(await isAllowed(client, 'user', 'c', 5)).toBe(true);
  expect(await isAllowed(client, 'team', 't', 2)).toBe(true);
  expect(await isAllowed(client, 'team', 't', 1)).toBe(false);
  const twice = await client.call('QUOTA.TAKEALL', 2, 'user', 'd', 3, 'user', 'd', 3);
  expect(twice).toMatch(/^-ERR the same subject of the same quota is there twice/);
  expect(await client.call('QUOTA.TAKEALL', 2, 'user', 'd', 2)).toMatch(
    /^-ERR syntax error: a count of 2 needs 6 words/,
  );
  expect(await client.call('QUOTA.TAKEALL', 17, 'user', 'd', 2)).toMatch(/^-ERR count is out of range: 1 to 16 q/);
});

test('a repetition with the same id is free, whichever connection it comes from', async () => {
  const { server, client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 5, 'WINDOW', HOUR_MS);
  const first = await client.call('QUOTA.TAKE', 'calls', 's', 2, 'ID', 'one');
  for (let again = 0; again < 4; again++) {
    const other = await connect(server);
    expect(await other.call('QUOTA.TAKE', 'calls', 's', 2, 'ID', 'one')).toBe(first);
  }
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 3, 'ID', 'one')).toMatch(/^-ERR this ID was used for another/);
  expect(await isAllowed(client, 'calls', 's', 4, 'ID', 'two')).toBe(false);
  expect(await isAllowed(client, 'calls', 's', 3)).toBe(true);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
});

async function reserve(client: TestClient, estimate: number, ttlMs: number): Promise<string> {
  const reply = await client.call('QUOTA.RESERVE', 'calls', 's', estimate, 'TTL', ttlMs);
  return reply.split('\r\n')[3];
}

test('a reservation is settled once: the excess comes back, a shortfall is charged within the limit', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  const first = await reserve(client, 8, 60_000);
  expect(await isAllowed(client, 'calls', 's', 3)).toBe(false);
  expect(numbers(await client.call('QUOTA.COMMIT', first, 5))).toEqual([5, 0]);
  expect(numbers(await client.call('QUOTA.COMMIT', first, 5))).toEqual([5, 0]);
  expect(await client.call('QUOTA.COMMIT', first, 1)).toMatch(/^-ERR the reservation is settled already/);
  expect(await client.call('QUOTA.CANCEL', first)).toBe(':0\r\n');
  const second = await reserve(client, 2, 60_000);
  // 3 are left: of the 6 that it cost in the end, 5 can be charged.
  expect(numbers(await client.call('QUOTA.COMMIT', second, 6))).toEqual([5, 1]);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
  expect(await client.call('QUOTA.COMMIT', 'nobody', 1)).toMatch(/^-ERR there is no such reservation/);
  expect(await client.call('QUOTA.RESERVE', 'calls', 's', 1, 'TTL', 0)).toMatch(/^-ERR a reservation holds for 1 to/);
});

test('the tokens of a reservation that is cancelled or lapses come back', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  const cancelled = await reserve(client, 10, 60_000);
  expect(await client.call('QUOTA.CANCEL', cancelled)).toBe(':1\r\n');
  expect(await client.call('QUOTA.CANCEL', cancelled)).toBe(':0\r\n');
  const lapsed = await reserve(client, 10, 50);
  expect(lapsed).not.toBe('');
  await eventually(async () => expect(await isAllowed(client, 'calls', 's', 10)).toBe(true));
  expect(await client.call('QUOTA.COMMIT', lapsed, 10)).toMatch(/^-ERR there is no such reservation/);
  expect(await isAllowed(client, 'calls', 's', 1)).toBe(false);
});

test('a lapsed reservation with LAPSE CHARGE counts as used; settled in time, its rest comes back', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  const charged = ['QUOTA.RESERVE', 'calls', 's', 4, 'TTL', 50, 'LAPSE', 'CHARGE'] as const;
  const lapsed = (await client.call(...charged)).split('\r\n')[3];
  const settled = (await client.call(...charged)).split('\r\n')[3];
  expect(numbers(await client.call('QUOTA.COMMIT', settled, 1))).toEqual([1, 0]);
  // What lapses after it comes back: when that is here, the other has lapsed too.
  await reserve(client, 1, 100);
  await eventually(async () => expect(numbers(await client.call('QUOTA.PEEK', 'calls', 's'))[1]).toBe(5));
  expect(await client.call('QUOTA.COMMIT', lapsed, 0)).toMatch(/^-ERR there is no such reservation/);
  expect(await isAllowed(client, 'calls', 's', 6)).toBe(false);
  expect(await isAllowed(client, 'calls', 's', 5)).toBe(true);
  expect(await client.call('QUOTA.RESERVE', 'calls', 's', 1, 'TTL', 50, 'LAPSE', 'KEEP')).toBe(
    "-ERR syntax error: 'KEEP', argument 7, is not understood here: LAPSE is REFUND or CHARGE\r\n",
  );
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1, 'LAPSE', 'CHARGE')).toBe(
    "-ERR syntax error: 'LAPSE', argument 4, is not understood here: WAIT duration and ID token may follow, each once\r\n",
  );
});

/** The id of a lease, or nothing where it was denied. */
async function acquire(client: TestClient, ttlMs: number, ...options: (string | number)[]): Promise<string> {
  const reply = await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', ttlMs, ...options);
  expect(reply).toMatch(/^\*6\r\n:[01]\r\n\$/);
  return reply.split('\r\n')[3];
}

test.each(['memory', 'disk'])('no more leases than the limit are held at once, in %s', async (mode) => {
  const { server, client } = await serve(mode === 'disk' ? { dataDirectory: await directory() } : {});
  expect(await client.call('QUOTA.DEFINE', 'jobs', 'LIMIT', 3, 'LEASE', 60_000)).toBe('+OK\r\n');
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server)));
  const ids = (await Promise.all(clients.map((each) => acquire(each, 60_000)))).filter((id) => id !== '');
  expect(ids).toHaveLength(3);
  const denied = numbers(await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 60_000));
  expect(denied.slice(0, 4)).toEqual([0, 0, 0, -1]);
  expect(denied[4]).toBeGreaterThan(0);
  expect(await client.call('QUOTA.RELEASE', ids[0])).toBe(':1\r\n');
  expect(await client.call('QUOTA.RELEASE', ids[0])).toBe(':0\r\n');
  expect(await acquire(client, 60_000)).not.toBe('');
  expect(await acquire(client, 60_000)).toBe('');
  expect(await client.call('QUOTA.INFO', 'jobs')).toContain('lease-ms\r\n:60000\r\n');
});

test('a lease holds while it is renewed, and ends when it is not', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'jobs', 'LIMIT', 1, 'LEASE', 60_000);
  const id = await acquire(client, 300);
  for (let turn = 0; turn < 5; turn++) {
    const [isRenewed, remainingMs, retryAfterMs] = numbers(await client.call('QUOTA.RENEW', id, 'TTL', 60_000));
    expect([isRenewed, retryAfterMs]).toEqual([1, 0]);
    // The time that remains when the reply is written: on a busy machine some milliseconds have passed.
    expect(remainingMs).toBeGreaterThan(30_000);
    expect(remainingMs).toBeLessThanOrEqual(60_000);
  }
  expect(await acquire(client, 1000)).toBe('');
  const [isShortened, shortMs] = numbers(await client.call('QUOTA.RENEW', id, 'TTL', 1));
  expect([isShortened, shortMs <= 1]).toEqual([1, true]);
  await eventually(async () => expect(await acquire(client, 60_000)).not.toBe(''));
  expect(await client.call('QUOTA.RENEW', id, 'TTL', 60_000)).toMatch(/^-ERR there is no such lease: it has ended/);
  expect(await client.call('QUOTA.RELEASE', id)).toBe(':0\r\n');
});

test('an id makes repeating a lease or a reservation free, and does not revive one that has ended', async () => {
  const { server, client } = await serve();
  await client.call('QUOTA.DEFINE', 'jobs', 'LIMIT', 2, 'LEASE', 60_000);
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 10, 'WINDOW', HOUR_MS);
  const id = await acquire(client, 60_000, 'ID', 'one');
  expect(await acquire(await connect(server), 60_000, 'ID', 'one')).toBe(id);
  expect(await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 5, 'ID', 'one')).toMatch(/^-ERR this ID was used/);
  expect(await client.call('QUOTA.TAKE', 'calls', 's', 1, 'ID', 'one')).toMatch(/^-ERR this ID was used/);
  await client.call('QUOTA.RELEASE', id);
  expect(await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 60_000, 'ID', 'one')).toMatch(
    /^-ERR the lease that was given for this ID has ended/,
  );
  const reserved = await client.call('QUOTA.RESERVE', 'calls', 's', 6, 'TTL', 60_000, 'ID', 'two');
  expect(await client.call('QUOTA.RESERVE', 'calls', 's', 6, 'TTL', 60_000, 'ID', 'two')).toBe(reserved);
  expect(await isAllowed(client, 'calls', 's', 4)).toBe(true);
});

test('leases that make no sense get an error that says why', async () => {
  const { client } = await serve();
  await client.call('QUOTA.DEFINE', 'jobs', 'LIMIT', 1, 'LEASE', 1000);
  await client.call('QUOTA.DEFINE', 'calls', 'LIMIT', 1, 'WINDOW', 1000);
  expect(await client.call('QUOTA.ACQUIRE', 'calls', 's', 'TTL', 100)).toMatch(/^-ERR 'calls' limits use, not leases/);
  expect(await client.call('QUOTA.TAKE', 'jobs', 's', 1)).toMatch(/^-ERR 'jobs' limits leases held at once/);
  expect(await client.call('QUOTA.TAKEALL', 1, 'jobs', 's', 1)).toMatch(/^-ERR 'jobs' limits leases held at once/);
  expect(await client.call('QUOTA.RESERVE', 'jobs', 's', 1, 'TTL', 1)).toMatch(/^-ERR 'jobs' limits leases held/);
  for (const ttl of [0, -1, 1001, '2s'])
    expect(await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', ttl)).toMatch(/^-ERR a lease of 'jobs' holds for 1/);
  expect(await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 'soon')).toMatch(/^-ERR TTL is no duration .* 'soon'/);
  expect(await client.call('QUOTA.ACQUIRE', 'jobs', 's', 'FOR', 1)).toMatch(
    /^-ERR syntax error: 'FOR', argument 3, is not understood here: TTL and a duration are needed/,
  );
  expect(await client.call('QUOTA.RENEW', 'nobody', 'TTL', 1)).toMatch(/^-ERR there is no such lease/);
  expect(await client.call('QUOTA.DEFINE', 'x', 'LIMIT', 1, 'LEASE', 0)).toMatch(
    /^-ERR a LEASE is a time of at least 1 millisecond, .*, not '0'/,
  );
  const both = ['LEASE', '5ms', 'WINDOW', '5ms'] as const;
  expect(await client.call('QUOTA.DEFINE', 'x', 'LIMIT', 1, ...both)).toMatch(/^-ERR a quota has a WINDOW or a LEASE/);
  expect(await client.call('QUOTA.PEEK', 'jobs', 's')).toBe('*3\r\n:0\r\n:1\r\n:-1\r\n');
});
