import { describeWithEtcd, EtcdServers } from '@quotadb/wire/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { MapDocument } from '../map/schema.js';
import type { StoredMap } from '../store/map-store.js';
import { EtcdMapStore, type EtcdMapStoreOptions } from './etcd-map-store.js';
import { machineClocks } from './lease.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const ONE = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);
const stores: EtcdMapStore[] = [];
let prefixes = 0;

const mapOfRevision = (revision: number): MapDocument => ({
  revision,
  groups: { red: { slots: '0-16383', members: [{ region: 'eu', host: '127.0.0.1', port: 6381 }] } },
});

function open(etcd: EtcdServers, options: Partial<EtcdMapStoreOptions> = {}): EtcdMapStore {
  const store = new EtcdMapStore({ urls: etcd.urls, prefix: `/test/${prefixes}`, leaseSeconds: 5, ...options });
  stores.push(store);
  return store;
}

/** Puts a map of this revision into its place, whatever comes in between. */
async function putMap(store: EtcdMapStore, revision: number): Promise<void> {
  await vi.waitFor(
    async () => {
      const before = await store.read();
      if (before?.document.revision === revision) return;
      expect(await store.replace(before, mapOfRevision(revision))).toBe(true);
    },
    { timeout: 30_000 },
  );
}

const encode = (text: string) => Buffer.from(text).toString('base64');

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop();
  prefixes++;
});

describeWithEtcd('a map in one etcd', () => {
  let etcd: EtcdServers;
  beforeAll(async () => {
    etcd = await EtcdServers.start();
  });
  afterAll(() => etcd.remove());

  test('is put once, and replaced only by those who have read the newest', async () => {
    const [one, other] = [open(etcd), open(etcd)];
    expect(await one.read()).toBeUndefined();
    const puts = await Promise.all([one, other].map((store) => store.replace(undefined, mapOfRevision(1))));
    expect(puts.sort()).toEqual([false, true]);
    const before = await one.read();
    expect(before?.document).toEqual(mapOfRevision(1));
    expect(await one.replace(before, mapOfRevision(2))).toBe(true);
    expect(await other.replace(before, mapOfRevision(3))).toBe(false);
    expect((await other.read())?.document).toEqual(mapOfRevision(2));
    await expect(one.replace(await one.read(), mapOfRevision(2))).rejects.toThrow('cannot follow');
  });

  test('loses no change of many writers at once, and no watcher misses the last or hears one twice', async () => {
    const [watcher, ...writers] = Array.from({ length: 4 }, () => open(etcd));
    const heard: StoredMap[] = [];
    watcher.watch((map) => heard.push(map));
    await putMap(writers[0], 1);
    await Promise.all(
      writers.map(async (store) => {
        for (let done = 0; done < 10; ) {
          const before = (await store.read()) as StoredMap;
          if (await store.replace(before, mapOfRevision(before.document.revision + 1))) done++;
        }
      }),
    );
    expect((await watcher.read())?.document.revision).toBe(31);
    await expect.poll(() => heard.at(-1)?.document.revision).toBe(31);
    const versions = heard.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  test('is locked by one at a time, and a change under a lock needs the lock', async () => {
    const [one, other] = [open(etcd), open(etcd)];
    await putMap(one, 1);
    const lock = await one.lock('mover');
    expect(lock?.isHeld).toBe(true);
    expect(await other.lock('mover')).toBeUndefined();
    expect(await one.replace(await one.read(), mapOfRevision(2), lock)).toBe(true);
    // The key is taken away, which this process has not noticed.
    await etcd.call('/v3/kv/deleterange', { key: encode(`/test/${prefixes}/locks/mover`) });
    const next = await other.lock('mover');
    expect(next?.isHeld).toBe(true);
    expect(await one.replace(await one.read(), mapOfRevision(3), lock)).toBe(false);
    expect(await other.replace(await other.read(), mapOfRevision(3), next)).toBe(true);
    // The old holder cannot release the lock of the new one.
    await lock?.release();
    expect(await one.lock('mover')).toBeUndefined();
    await next?.release();
    expect(next?.isHeld).toBe(false);
    expect((await one.lock('mover'))?.isHeld).toBe(true);
  });

  test('has the statements of members again after it was restored from a backup', async () => {
    const restored = await EtcdServers.start();
    try {
      const [one, other] = [open(restored), open(restored)];
      const heard: number[] = [];
      await putMap(one, 1);
      await one.announce(ONE, { revision: 1 });
      await restored.backUp();
      one.watch(({ document }) => heard.push(document.revision));
      await putMap(one, 2);
      await one.announce(ONE, { revision: 2 });
      await vi.waitFor(() => expect(heard.at(-1)).toBe(2), { timeout: 30_000 });
      await restored.restore();
      await vi.waitFor(() => expect(heard.at(-1)).toBe(1), { timeout: 30_000 });
      await vi.waitFor(async () => expect(await other.members()).toEqual(new Map([[ONE, { revision: 2 }]])), {
        timeout: 30_000,
      });
    } finally {
      for (const store of stores.splice(0)) await store.stop();
      await restored.remove();
    }
  });

  test('has statements and locks of members for as long as they run', async () => {
    const [one, other] = [open(etcd), open(etcd)];
    await one.announce(ONE, { revision: 1 });
    await other.announce(OTHER, { revision: 1 });
    await one.announce(ONE, { revision: 2 });
    await one.lock('mover');
    const expected = new Map([
      [ONE, { revision: 2 }],
      [OTHER, { revision: 1 }],
    ]);
    expect(await other.members()).toEqual(expected);
    await one.stop();
    expect([...(await other.members()).keys()]).toEqual([OTHER]);
    expect((await other.lock('mover'))?.isHeld).toBe(true);
  });

  test('has the statement of a member again when its lease was lost, and its lock is not held then', async () => {
    const [one, other] = [open(etcd, { leaseSeconds: 2 }), open(etcd)];
    await one.announce(ONE, { revision: 7 });
    const lock = await one.lock('mover');
    const { leases } = (await etcd.call('/v3/lease/leases', {})) as { leases: { ID: string }[] };
    for (const { ID } of leases) await etcd.call('/v3/lease/revoke', { ID });
    await expect.poll(() => lock?.isHeld, { timeout: 20_000 }).toBe(false);
    await expect.poll(() => other.members(), { timeout: 20_000 }).toEqual(new Map([[ONE, { revision: 7 }]]));
    expect((await other.lock('mover'))?.isHeld).toBe(true);
  });

  test('is not locked any more, by the own clock of the holder, when the lease may have ended', async () => {
    const passed = { monotonicMs: 0, wallMs: 0 };
    const clocks = { ...machineClocks, monotonicMs: () => passed.monotonicMs, wallMs: () => passed.wallMs };
    const store = open(etcd, { clocks, leaseSeconds: 60 });
    for (const clock of ['monotonicMs', 'wallMs'] as const) {
      const lock = await store.lock(`mover-${clock}`);
      expect(lock?.isHeld).toBe(true);
      passed[clock] += 60_000;
      expect(lock?.isHeld).toBe(false);
      expect(await store.replace(undefined, mapOfRevision(1), lock)).toBe(false);
    }
  });

  test('that an operator has spoilt is refused with its mistakes, and the next good one is reported', async () => {
    const refused: (readonly string[])[] = [];
    const heard: number[] = [];
    const store = open(etcd, { refused: (mistakes) => refused.push(mistakes) });
    await putMap(store, 1);
    store.watch(({ document }) => heard.push(document.revision));
    await expect.poll(() => heard).toEqual([1]);
    const key = encode(`/test/${prefixes}/map`);
    await etcd.call('/v3/kv/put', { key, value: encode('{"revision": 2, "groups": 7}') });
    await expect.poll(() => refused.at(-1)?.length).toBe(1);
    await expect(store.read()).rejects.toThrow('groups');
    await etcd.call('/v3/kv/deleterange', { key });
    expect(await store.replace(undefined, mapOfRevision(3))).toBe(true);
    await expect.poll(() => heard).toEqual([1, 3]);
    expect(refused.at(-1)).toEqual([]);
  });
});

describeWithEtcd('a watch', () => {
  let etcd: EtcdServers;
  afterEach(() => etcd.remove());

  test('goes on after etcd was killed and after a compaction, with the newest map, and says that etcd was away', async () => {
    etcd = await EtcdServers.start();
    const heard: number[] = [];
    const troubles: (string | undefined)[] = [];
    const store = open(etcd, { troubled: (reason) => troubles.push(reason), leaseSeconds: 2 });
    await store.announce(ONE, { revision: 1 });
    await putMap(store, 1);
    store.watch(({ document }) => heard.push(document.revision));
    await expect.poll(() => heard).toEqual([1]);
    await etcd.kill();
    await expect.poll(() => troubles.at(-1), { timeout: 20_000 }).toContain('etcd is not reachable');
    await expect(store.read()).rejects.toThrow('ECONNREFUSED');
    await etcd.startAgain();
    // Before the watch is back: two changes, of which it need not know the first, and which are compacted.
    const writer = open(etcd);
    await putMap(writer, 2);
    await putMap(writer, 3);
    const { header } = (await etcd.call('/v3/kv/range', { key: encode('none') })) as { header: { revision: string } };
    await etcd.call('/v3/kv/compaction', { revision: header.revision });
    await expect.poll(() => heard.at(-1), { timeout: 20_000 }).toBe(3);
    await expect.poll(() => troubles.at(-1), { timeout: 20_000 }).toBeUndefined();
    await putMap(writer, 4);
    await expect.poll(() => heard.at(-1)).toBe(4);
    expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b));
    await expect.poll(() => store.members(), { timeout: 20_000 }).toEqual(new Map([[ONE, { revision: 1 }]]));
  });

  test('of an etcd of three goes on when the leader is killed, and when the member it hangs on stands still', async () => {
    etcd = await EtcdServers.start({ members: 3 });
    const heard: number[] = [];
    const watcher = open(etcd, { checkMs: 500, attemptMs: 1000 });
    const writer = open(etcd, { attemptMs: 1000, leaseSeconds: 10 });
    await putMap(writer, 1);
    watcher.watch(({ document }) => heard.push(document.revision));
    await expect.poll(() => heard).toEqual([1]);
    await writer.announce(ONE, { revision: 1 });
    const leader = await etcd.leader();
    await etcd.kill(leader);
    await putMap(writer, 2);
    await expect.poll(() => heard.at(-1), { timeout: 20_000 }).toBe(2);
    expect((await writer.members()).get(ONE)).toEqual({ revision: 1 });
    await etcd.startAgain(leader);
    for (const [index] of etcd.urls.entries()) {
      etcd.pause(index);
      await putMap(writer, 3 + index);
      await expect.poll(() => heard.at(-1), { timeout: 20_000 }).toBe(3 + index);
      etcd.resume(index);
    }
    expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b));
  });
});
