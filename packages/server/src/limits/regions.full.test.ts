import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

const PATIENCE_MS = 120_000;
const LIMIT = 200;
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

const NAMES = ['a', 'b', 'c'];

async function startRegions(catalogue: string): Promise<{ cluster: TestRegions; file: string }> {
  const path = await mkdtemp(join(tmpdir(), 'quotadb-limit-regions-'));
  opened.push({ close: () => rm(path, { recursive: true, force: true }) });
  const file = join(path, 'limits.yaml');
  await writeFile(file, catalogue);
  const cluster = await TestRegions.make(NAMES);
  opened.push(cluster);
  // Every region is given the file, as an operator would; the home reads it.
  await cluster.startAll((name) => [
    '--data',
    join(path, name),
    '--limits',
    file,
    '--transport',
    'epoll',
    '--lanes',
    '2',
  ]);
  await cluster.allConnected();
  for (const name of NAMES)
    await eventually(async () => expect(await cluster.call(name, 'LIMIT.LIST')).toContain('api'));
  return { cluster, file };
}

async function isAllowed(client: TestClient, name: string, subject: string): Promise<boolean> {
  const reply = await client.call('LIMIT.CHECK', name, subject);
  if (!reply.startsWith('*6\r\n')) throw new Error(reply);
  return reply.startsWith('*6\r\n:1\r\n');
}

/** Clients of a region that all ask at once; returns how many calls were allowed, by subject. */
async function load(port: number, clientCount: number, calls: number, subjects: readonly string[]) {
  const allowed = new Map(subjects.map((subject) => [subject, 0]));
  const work = async (_: unknown, index: number) => {
    const client = await TestClient.open(port);
    const subject = subjects[index % subjects.length];
    for (let call = 0; call < calls; call++)
      if (await isAllowed(client, 'api', subject)) allowed.set(subject, (allowed.get(subject) ?? 0) + 1);
    client.close();
  };
  await Promise.all(Array.from({ length: clientCount }, work));
  return allowed;
}

test(
  'three regions on several lanes admit exactly an exact limit of the file under skewed load, child and parent alike',
  async () => {
    const { cluster } = await startRegions(`
limits:
  - { name: api, kind: exact, limit: 150, window: 1d, parent: org }
  - { name: org, kind: exact, limit: ${LIMIT}, window: 1d }
`);
    const subjects = ['acme/ann', 'acme/bob'];
    const loads = await Promise.all([
      load(cluster.of('a').ready.resp, 6, 50, subjects),
      load(cluster.of('b').ready.resp, 2, 30, subjects),
      load(cluster.of('c').ready.resp, 2, 15, subjects),
    ]);
    const allowed = new Map(subjects.map((subject) => [subject, sum(loads.map((counts) => counts.get(subject) ?? 0))]));
    const total = () => sum([...allowed.values()]);
    expect(total()).toBeLessThanOrEqual(LIMIT);
    // What lies unused in one region is found by another, until exactly the limit of the parent is admitted.
    await eventually(async () => {
      for (const name of NAMES)
        for (const subject of subjects)
          while (total() < LIMIT && (await isAllowed(cluster.of(name).client, 'api', subject)))
            allowed.set(subject, (allowed.get(subject) ?? 0) + 1);
      expect(total()).toBe(LIMIT);
    });
    for (const name of NAMES)
      for (const subject of subjects) expect(await isAllowed(cluster.of(name).client, 'api', subject)).toBe(false);
    for (const [subject, count] of allowed) {
      expect(count).toBeLessThanOrEqual(150);
      // The parent's denials took nothing from the children.
      const page = await cluster.call('a', 'QUOTA.INFO', 'api', subject);
      expect(Number(/remaining-everywhere\r\n:(\d+)/.exec(page)?.[1])).toBeLessThanOrEqual(150 - count);
    }
  },
  PATIENCE_MS,
);

test(
  'a change of the file, or by a command in any region, holds in all of them',
  async () => {
    const limits = (limit: number) => `limits:\n  - { name: api, kind: exact, limit: ${limit}, window: 1d }\n`;
    const { cluster, file } = await startRegions(limits(3));
    await writeFile(file, limits(4));
    for (const name of NAMES)
      await eventually(async () =>
        expect(await cluster.call(name, 'LIMIT.PEEK', 'api', 's')).toContain('\r\n:4\r\n:4\r\n'),
      );
    const slide = '{ name: slide, kind: sliding, limit: 7, window: 1h }';
    expect(await cluster.call('c', 'LIMIT.SET', slide)).toBe('+OK\r\n');
    for (const name of NAMES)
      await eventually(async () =>
        expect(await cluster.call(name, 'LIMIT.PEEK', 'slide', 's')).toContain('\r\n:7\r\n'),
      );
    expect(await cluster.call('b', 'LIMIT.SET', '{ name: slide, kind: sliding, limit: x }')).toMatch(/^-ERR .*limit/);
  },
  PATIENCE_MS,
);

test.each(['fixed', 'sliding'])(
  'a reset in any region gives back what all regions have counted of a limit of kind %s, a refund what one has',
  async (kind) => {
    const { cluster } = await startRegions(`limits: [{ name: api, kind: ${kind}, limit: 10, window: 1d }]`);
    for (const [name, cost] of [
      ['a', 3],
      ['b', 4],
    ] as const)
      expect(await cluster.call(name, 'LIMIT.CHECK', 'api', 's', cost)).toMatch(/^\*6\r\n:1\r\n/);
    const left = async (remaining: number) => {
      for (const name of NAMES)
        await eventually(async () =>
          expect(await cluster.call(name, 'LIMIT.PEEK', 'api', 's')).toContain(`\r\n:10\r\n:${remaining}\r\n`),
        );
    };
    await left(3);
    expect(await cluster.call('c', 'LIMIT.REFUND', 'api', 's', 5)).toMatch(/^\*3\r\n:0\r\n/);
    expect(await cluster.call('b', 'LIMIT.REFUND', 'api', 's', 1)).toMatch(/^\*3\r\n:1\r\n/);
    await left(4);
    expect(await cluster.call('c', 'LIMIT.RESET', 'api', 's')).toMatch(/^\*3\r\n:6\r\n\*3\r\n[\s\S]*\*0\r\n$/);
    await left(10);
  },
  PATIENCE_MS,
);

test(
  'as many leases as a limit are held in three regions together, each with the limits beside it or not at all',
  async () => {
    const { cluster } = await startRegions(
      'limits: [{ name: api, domain: work, kind: fixed, limit: 100, window: 1d }]',
    );
    const jobs = '{ name: jobs, domain: work, kind: concurrency, limit: 3, hold: 2m }';
    expect(await cluster.call('b', 'LIMIT.SET', jobs)).toBe('+OK\r\n');
    for (const name of NAMES)
      await eventually(async () => expect(await cluster.call(name, 'LIMIT.LIST')).toContain('jobs'));
    const held = new Set<string>();
    const take = async (name: string, lease: string) => {
      const reply = await cluster.call(name, 'LIMIT.CHECK', 'work', 's', 'LEASE', lease);
      if (!reply.startsWith('*6\r\n')) throw new Error(reply);
      if (reply.startsWith('*6\r\n:1\r\n')) held.add(`${name} ${lease}`);
      expect(held.size).toBeLessThanOrEqual(3);
    };
    await eventually(async () => {
      for (const lease of ['x', 'y']) for (const name of NAMES) await take(name, lease);
      expect(held.size).toBe(3);
    });
    // Every lease was paid for once in the region that gave it, however often it was asked for; denials were not.
    const spent = async () => {
      const pages = await Promise.all(NAMES.map((name) => cluster.call(name, 'LIMIT.PEEK', 'api', 's')));
      return pages.map((page) => 100 - Number(/^\*6\r\n:1\r\n:100\r\n:(\d+)/.exec(page)?.[1]));
    };
    await eventually(async () => expect(await spent()).toEqual([3, 3, 3]));
    const [[name, lease]] = [...held].map((one) => one.split(' '));
    expect(await cluster.call(name, 'LIMIT.RELEASE', 'work', 's', lease)).toBe(':1\r\n');
    held.delete(`${name} ${lease}`);
    await eventually(async () => {
      await take('c', 'z');
      expect(held.has('c z')).toBe(true);
    });
  },
  PATIENCE_MS,
);

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
