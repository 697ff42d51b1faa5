import { nodeIdOf, planMove, slotOfText } from '@quotadb/cluster';
import { describeWithEtcd } from '@quotadb/wire/testing';
import { Cluster } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { EtcdCluster, LAST_SLOT, TestClient } from '../../testing/index.js';

/** Processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });
const PATIENT = { timeout: 90_000, interval: 50 };

const NAMES = ['red/eu/a', 'red/eu/b', 'blue/eu/a', 'blue/eu/b'];

let running: EtcdCluster | undefined;
let client: Cluster | undefined;

afterEach(async () => {
  client?.disconnect();
  client = undefined;
  await running?.stop();
  running = undefined;
});

/** Two groups of two members; red has all slots. */
async function prepare(): Promise<EtcdCluster> {
  running = await EtcdCluster.start({ names: NAMES, words: ['--quota', 'calls LIMIT 100 WINDOW 1h'] });
  return running;
}

/** `quotadb cluster …`; returns what it prints. */
async function operate(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await (running as EtcdCluster).operate(...words);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** Counts without end; `stop` returns the acknowledged increments. */
function countAll(
  cluster: Cluster,
  keys: readonly string[],
): { stop(): Promise<Map<string, number>>; total(): number } {
  const acknowledged = new Map(keys.map((key) => [key, 0]));
  const unknown = new Map(keys.map((key) => [key, 0]));
  let isOver = false;
  let total = 0;
  const workers = Array.from({ length: 8 }, async (_, worker) => {
    for (let at = worker; !isOver; at += 8) {
      const key = keys[at % keys.length];
      const isDone = await cluster.incr(key).then(
        () => true,
        () => false,
      );
      const counts = isDone ? acknowledged : unknown;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (isDone) total++;
    }
  });
  return {
    total: () => total,
    async stop() {
      isOver = true;
      await Promise.all(workers);
      expect([...unknown.values()].reduce((sum, count) => sum + count)).toBe(0);
      return acknowledged;
    },
  };
}

describeWithEtcd('slots that move between two groups of two members', () => {
  test('keep every increment, expiry, cell and token, while a cluster client counts; the old group holds nothing', async () => {
    const groups = await prepare();
    const keys = Array.from({ length: 300 }, (_, at) => `n:${at}`);
    client = new Cluster([{ host: '127.0.0.1', port: groups.portOf('red/eu/a') }], { maxRedirections: 100 });
    client.on('error', () => {});
    await client.set('lasting', 7, 'EX', 5000);
    await client.set('negative', -12);
    const one = await TestClient.open(groups.portOf('red/eu/a'));
    const other = await TestClient.open(groups.portOf('red/eu/b'));
    expect(await one.call('WINDOW.INCRBY', 'page', '1h', 5)).toMatch(/^\*3\r\n:5\r\n/);
    // One of each member, and below the threshold of being published.
    expect(await one.call('RATE.LIMIT', 'caller', 1000, '1h', 3)).toMatch(/^\*/);
    expect(await other.call('RATE.LIMIT', 'caller', 1000, '1h', 4)).toMatch(/^\*/);
    expect(await one.call('RATE.GCRA', 'bucket', 9, 10, '100h', 6)).toMatch(/^\*5\r\n:1\r\n:10\r\n:4\r\n/);
    for (const server of [one, other])
      await expect.poll(() => server.call('QUOTA.TAKE', 'calls', 'subject', 20), PATIENT).toMatch(/^\*\d\r\n:1\r\n/);
    const held = /[\w-]+@[\w/-]+\{\w+\}/.exec(
      await one.call('QUOTA.RESERVE', 'calls', 'reserved', 10, 'TTL', '1h'),
    )?.[0];
    const counting = countAll(client, keys);
    await expect.poll(() => counting.total(), PATIENT).toBeGreaterThan(500);

    const shown = operate('move', `0-${LAST_SLOT}`, '--to', 'blue', '--yes');
    // All but the slot of a reservation that is open.
    const kept = slotOfText('reserved');
    await expect.poll(async () => (await groups.document()).groups.red.slots, PATIENT).toEqual([String(kept)]);
    expect(await one.call('QUOTA.COMMIT', held ?? '', 4)).toMatch(/^\*2\r\n:4\r\n/);
    expect(await shown).toMatch(/^.*16384 slots move from red to blue: 0-16383\n.*all slots are where they belong\n$/s);
    expect(await groups.movesLeft()).toBe(0);
    const acknowledged = await counting.stop();

    const cluster = client;
    const found = await Promise.all([...acknowledged.keys()].map(async (key) => [key, Number(await cluster.get(key))]));
    expect(found).toEqual([...acknowledged]);
    expect(await client.get('negative')).toBe('-12');
    expect(await client.pttl('lasting')).toBeGreaterThan(4_000_000);
    expect(await groups.ask('blue/eu/b', 'WINDOW.INCRBY', 'page', '1h', 1)).toMatch(/^\*3\r\n:6\r\n/);
    expect(await groups.ask('blue/eu/b', 'RATE.PEEK', 'caller', 1000, '1h')).toMatch(/\r\n:993\r\n/);
    // Every node has a bucket of its own, and none has more than was left.
    for (const name of ['blue/eu/a', 'blue/eu/b']) {
      expect(await groups.ask(name, 'RATE.GCRA', 'bucket', 9, 10, '100h', 5)).toMatch(/^\*5\r\n:0\r\n/);
      expect(await groups.ask(name, 'RATE.GCRA', 'bucket', 9, 10, '100h', 4)).toMatch(/^\*5\r\n:1\r\n/);
    }
    // 40 of 100 were taken: 60 are left, and no more, wherever they are asked for.
    let taken = 0;
    const takeOne = async (name: string) => {
      const isTaken = /^\*\d\r\n:1\r\n/.test(await groups.ask(name, 'QUOTA.TAKE', 'calls', 'subject', 1));
      if (isTaken) taken++;
      return isTaken;
    };
    await expect
      .poll(async () => {
        while ((await takeOne('blue/eu/a')) || (await takeOne('blue/eu/b'))) expect(taken).toBeLessThanOrEqual(60);
        return taken;
      }, PATIENT)
      .toBe(60);
    expect([await takeOne('blue/eu/a'), await takeOne('blue/eu/b')]).toEqual([false, false]);
    for (const name of ['red/eu/a', 'red/eu/b'])
      await expect.poll(() => groups.ask(name, 'DBSIZE'), PATIENT).toBe(':0\r\n');
    for (const open of [one, other]) open.close();
  });

  test('arrive once though the mover is killed in the middle', async () => {
    const groups = await prepare();
    const keys = Array.from({ length: 2000 }, (_, at) => `n:${at}`);
    client = new Cluster([{ host: '127.0.0.1', port: groups.portOf('blue/eu/a') }], {
      clusterRetryStrategy: () => 100,
      retryDelayOnTryAgain: 100,
      maxRedirections: 100,
    });
    client.on('error', () => {});
    const cluster = client;
    await Promise.all(keys.map((key) => cluster.incr(key)));
    // Paused before the first step: nothing moves until an operator says so.
    expect(await operate('pause')).toContain('moves stand still');
    const before = await groups.store.read();
    const planned = planMove(await groups.document(), [{ first: 0, last: LAST_SLOT }], 'blue');
    expect(await groups.store.replace(before, planned)).toBe(true);
    expect(await operate('resume')).toContain('moves go on');
    // Killed as soon as something is held, by the member that has the lock.
    const isMoving = (name: string) => groups.logOf(name).includes('this member moves the slots');
    await expect
      .poll(async () => (await groups.document()).moves?.[0].held !== undefined, { ...PATIENT, interval: 1 })
      .toBe(true);
    const mover = isMoving('red/eu/a') ? 'red/eu/a' : 'red/eu/b';
    await groups.kill(mover);
    groups.spawn(mover);
    await expect.poll(() => groups.movesLeft(), PATIENT).toBe(0);
    expect(await Promise.all(keys.map((key) => cluster.get(key)))).toEqual(keys.map(() => '1'));
    for (const name of ['red/eu/a', 'red/eu/b'])
      await expect.poll(() => groups.ask(name, 'DBSIZE'), PATIENT).toBe(':0\r\n');
    const statements = await groups.store.members();
    for (const name of ['a', 'b']) expect(statements.has(nodeIdOf({ group: 'red', region: 'eu', name }))).toBe(true);
    // And a half goes back.
    expect(await operate('rebalance', '--yes')).toMatch(/8192 slots move from blue to red: .*\n/);
    expect(await Promise.all(keys.map((key) => cluster.get(key)))).toEqual(keys.map(() => '1'));
  });
});
