import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

const HOUR_MS = 3_600_000;
const PATIENCE_MS = 120_000;
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function regions(...given: Parameters<typeof TestRegions.make>): Promise<TestRegions> {
  const made = await TestRegions.make(...given);
  opened.push(made);
  return made;
}

async function directories(): Promise<(name: string) => string> {
  const path = await mkdtemp(join(tmpdir(), 'quotadb-quota-regions-'));
  opened.push({ close: () => rm(path, { recursive: true, force: true }) });
  return (name) => join(path, name);
}

/** Allowed, denied, or undefined where the connection broke before that was known. */
async function take(client: TestClient, cost = 1): Promise<boolean | undefined> {
  const reply = await client.call('QUOTA.TAKE', 'calls', 's', cost).catch(() => undefined);
  return reply === undefined ? undefined : reply.startsWith('*5\r\n:1\r\n');
}

async function known(cluster: TestRegions): Promise<void> {
  for (const name of cluster.names)
    await eventually(async () => expect(await cluster.call(name, 'QUOTA.LIST')).toContain('calls'));
}

/** Clients in a region that call until they are denied a few times in a row; returns how many calls were allowed. */
async function load(port: number, clientCount: number, callsEach: number): Promise<number> {
  const work = async () => {
    const client = await TestClient.open(port);
    let allowed = 0;
    for (let call = 0; call < callsEach; call++) {
      const outcome = await take(client);
      if (outcome === undefined) break;
      if (outcome) allowed++;
    }
    client.close();
    return allowed;
  };
  const counts = await Promise.all(Array.from({ length: clientCount }, work));
  return counts.reduce((sum, count) => sum + count, 0);
}

test(
  'three regions under skewed load allow exactly the limit, wherever it was defined',
  async () => {
    const cluster = await regions(['a', 'b', 'c']);
    await cluster.startAll();
    await cluster.allConnected();
    // Not the home, and the allocator is a third one.
    const definition = ['calls', 'LIMIT', 300, 'WINDOW', HOUR_MS, 'ALLOCATOR', 'c'] as const;
    expect(await cluster.call('b', 'QUOTA.DEFINE', ...definition)).toBe('+OK\r\n');
    await known(cluster);
    const counts = await Promise.all([
      load(cluster.of('a').ready.resp, 6, 60),
      load(cluster.of('b').ready.resp, 2, 20),
      load(cluster.of('c').ready.resp, 1, 20),
    ]);
    let allowed = counts.reduce((sum, count) => sum + count);
    // What lies unused in one region is found by another.
    await eventually(async () => {
      while (allowed < 300 && (await take(cluster.of('b').client))) allowed++;
      expect(allowed).toBe(300);
    });
    for (const name of cluster.names) expect(await take(cluster.of(name).client)).toBe(false);
  },
  PATIENCE_MS,
);

test(
  'behind a partition each side spends its own tokens and no more, and policies cannot be changed',
  async () => {
    const cluster = await regions(['a', 'b']);
    await cluster.startAll();
    await cluster.allConnected();
    const definition = ['calls', 'LIMIT', 100, 'WINDOW', HOUR_MS, 'ON-UNREACHABLE', 'WAIT', 200] as const;
    expect(await cluster.call('a', 'QUOTA.DEFINE', ...definition)).toBe('+OK\r\n');
    await known(cluster);
    let allowed = 0;
    await eventually(async () => {
      expect(await take(cluster.of('b').client)).toBe(true);
      allowed++;
    });
    cluster.cut('a', 'b');
    await eventually(async () => {
      expect((await cluster.peer('b', 'a')).state).not.toBe('connected');
    });
    expect(await cluster.call('b', 'QUOTA.DEFINE', 'more', 'LIMIT', 1, 'WINDOW', 1000)).toMatch(
      /^-ERR policies are defined in region a, their home, and there is no connection to it/,
    );
    allowed += await load(cluster.of('a').ready.resp, 4, 60);
    allowed += await load(cluster.of('b').ready.resp, 4, 60);
    expect(allowed).toBeLessThanOrEqual(100);
    cluster.heal('a', 'b');
    await cluster.allConnected();
    await eventually(async () => {
      while (allowed < 100 && (await take(cluster.of('b').client))) allowed++;
      expect(allowed).toBe(100);
    });
    expect(await take(cluster.of('a').client)).toBe(false);
    expect(await take(cluster.of('b').client)).toBe(false);
  },
  PATIENCE_MS,
);

test(
  'a limit lowered while a region is cut off is exceeded by the tokens that region held, and by nothing once it is back',
  async () => {
    const cluster = await regions(['a', 'b', 'c']);
    await cluster.startAll();
    await cluster.allConnected();
    const define = (limit: number) =>
      cluster.call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', limit, 'WINDOW', HOUR_MS, 'ON-UNREACHABLE', 'WAIT', 200);
    await define(1000);
    await known(cluster);
    let allowed = 0;
    for (const name of cluster.names)
      await eventually(async () => {
        expect(await take(cluster.of(name).client, 20)).toBe(true);
        allowed += 20;
      });
    for (const other of ['a', 'b']) cluster.cut('c', other);
    for (const other of ['a', 'b'])
      await eventually(async () => expect((await cluster.peer('c', other)).state).not.toBe('connected'));
    const held = Number((await cluster.call('c', 'QUOTA.PEEK', 'calls', 's')).split('\r\n')[1].slice(1));
    expect(held).toBeGreaterThan(0);
    expect(await define(200)).toBe('+OK\r\n');
    await eventually(async () => expect(await cluster.call('b', 'QUOTA.INFO', 'calls')).toContain('limit\r\n:200\r\n'));
    for (const name of ['a', 'b']) allowed += await load(cluster.of(name).ready.resp, 4, 60);
    expect(allowed).toBeLessThanOrEqual(200);
    const cutOff = await load(cluster.of('c').ready.resp, 4, 10);
    expect(cutOff).toBeLessThanOrEqual(held);
    for (const other of ['a', 'b']) cluster.heal('c', other);
    await cluster.allConnected();
    await eventually(async () => expect(await cluster.call('c', 'QUOTA.INFO', 'calls')).toContain('limit\r\n:200\r\n'));
    // All of the lower limit and no more, unless the region that was cut off has gone beyond it already.
    let more = 0;
    for (const name of cluster.names) more += await load(cluster.of(name).ready.resp, 4, 60);
    expect(allowed + cutOff + more).toBeLessThanOrEqual(Math.max(200, allowed + cutOff));
  },
  PATIENCE_MS,
);

test(
  'an allocator that is killed and comes back with its disk gives nothing out twice',
  async () => {
    const directory = await directories();
    const cluster = await regions(['a', 'b']);
    const flagsOf = (name: string) => ['--data', directory(name)];
    await cluster.startAll(flagsOf);
    await cluster.allConnected();
    expect(await cluster.call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', 200, 'WINDOW', HOUR_MS)).toBe('+OK\r\n');
    await known(cluster);
    let allowed = 0;
    for (let round = 0; round < 2; round++) {
      const loads = [load(cluster.of('a').ready.resp, 3, 15), load(cluster.of('b').ready.resp, 3, 15)];
      await cluster.kill('a');
      allowed += (await Promise.all(loads)).reduce((sum, count) => sum + count);
      await cluster.start('a', flagsOf('a'));
      await cluster.allConnected();
    }
    allowed += await load(cluster.of('a').ready.resp, 4, 60);
    allowed += await load(cluster.of('b').ready.resp, 4, 60);
    expect(allowed).toBeLessThanOrEqual(200);
    expect(allowed).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

test(
  'an allocator that lost its memory begins with nothing in a window that it may have begun before',
  async () => {
    const cluster = await regions(['a', 'b']);
    await cluster.startAll();
    await cluster.allConnected();
    await cluster.call('b', 'QUOTA.DEFINE', 'calls', 'LIMIT', 50, 'WINDOW', HOUR_MS, 'ALLOCATOR', 'b');
    await known(cluster);
    let allowed = await load(cluster.of('b').ready.resp, 2, 30);
    expect(allowed).toBe(50);
    await cluster.kill('b');
    await cluster.start('b');
    await cluster.allConnected();
    await known(cluster);
    allowed += await load(cluster.of('b').ready.resp, 2, 10);
    expect(allowed).toBe(50);
    expect(await cluster.call('b', 'QUOTA.INFO', 'calls')).toContain('starts-here\r\n:0\r\n');
  },
  PATIENCE_MS,
);

test(
  'regions that were given different homes refuse each other',
  async () => {
    const cluster = await regions(['a', 'b']);
    await cluster.startAll((name) => ['--home', name]);
    await eventually(async () =>
      expect((await cluster.peer('a', 'b')).trouble).toMatch(/--home is "a" in a and "b" in b/),
    );
  },
  PATIENCE_MS,
);

/** Spokes that dial the hub only. */
async function spokes(): Promise<TestRegions> {
  const cluster = await regions(['hub', 'a', 'b'], {
    dials: [
      ['a', 'hub'],
      ['b', 'hub'],
    ],
    flags: ['--home', 'a'],
  });
  await cluster.startAll();
  // Policies go from their home through the hub, once all have met.
  await eventually(async () => {
    const words = ['calls', 'LIMIT', 60, 'WINDOW', HOUR_MS, 'ALLOCATOR', 'a'] as const;
    expect(await cluster.call('b', 'QUOTA.DEFINE', ...words)).toBe('+OK\r\n');
  });
  await known(cluster);
  return cluster;
}

test(
  'a spoke gets tokens from another spoke through the hub, exactly as many as there are',
  async () => {
    const cluster = await spokes();
    let allowed = 0;
    await eventually(async () => {
      while (allowed < 60 && (await take(cluster.of('b').client))) allowed++;
      expect(allowed).toBe(60);
    });
    for (const name of cluster.names) expect(await take(cluster.of(name).client)).toBe(false);
  },
  PATIENCE_MS,
);

test(
  'leases of three regions together are never more than the limit, and can be renewed and released from any of them',
  async () => {
    const cluster = await spokes();
    expect(await cluster.call('hub', 'QUOTA.DEFINE', 'jobs', 'LIMIT', 4, 'LEASE', 60_000)).toBe('+OK\r\n');
    const acquire = async (name: string) => {
      const reply = await cluster.call(name, 'QUOTA.ACQUIRE', 'jobs', 's', 'TTL', 60_000);
      return reply.startsWith('*6\r\n:1\r\n') ? reply.split('\r\n')[3] : undefined;
    };
    const held: string[] = [];
    await eventually(async () => {
      for (const name of cluster.names) {
        const lease = await acquire(name);
        if (lease !== undefined) held.push(lease);
      }
      expect(held).toHaveLength(4);
    });
    for (const name of cluster.names) expect(await acquire(name)).toBeUndefined();
    // Held in one region, and asked for in another that has no link to it.
    const other = held[0].endsWith('@b') ? 'a' : 'b';
    expect(await cluster.call(other, 'QUOTA.RENEW', held[0], 'TTL', 50_000)).toBe('*3\r\n:1\r\n:50000\r\n:0\r\n');
    expect(await cluster.call(other, 'QUOTA.RELEASE', held[0])).toBe(':1\r\n');
    expect(await cluster.call(other, 'QUOTA.RELEASE', held[0])).toBe(':0\r\n');
    expect(await cluster.call(other, 'QUOTA.RELEASE', 'x@nowhere')).toMatch(
      /^-ERR it is held in region nowhere, and there is no connection to it/,
    );
    await eventually(async () => expect(await acquire('b')).toBeDefined());
    for (const name of cluster.names) expect(await acquire(name)).toBeUndefined();
  },
  PATIENCE_MS,
);
