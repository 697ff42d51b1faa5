import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describeWithEtcd } from '@quotadb/wire/testing';
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterEach, expect, test, vi } from 'vitest';
import { EtcdCluster, LastingState, runProgram, TestClient } from '../../testing/index.js';

/** Eight servers, three etcds and five clients, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 120_000 });
const PATIENT = { timeout: 180_000, interval: 100 };
const NAMES = ['red', 'blue'].flatMap((group) =>
  ['eu', 'us'].flatMap((region) => ['a', 'b'].map((member) => `${group}/${region}/${member}`)),
);
const KEYS = 50;
const PYTHON = '/usr/bin/python3';

let cluster: EtcdCluster | undefined;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await cluster?.stop();
  cluster = undefined;
});

/** What a client knows of its increments, by key. */
class Tally {
  readonly acknowledged = new Map<string, number>();
  readonly attempted = new Map<string, number>();
  private readonly prefix: string;
  private at = 0;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  get total(): number {
    return [...this.acknowledged.values()].reduce((sum, count) => sum + count, 0);
  }

  nextKey(): string {
    const key = `${this.prefix}:${this.at++ % KEYS}`;
    this.attempted.set(key, (this.attempted.get(key) ?? 0) + 1);
    return key;
  }

  acknowledge(key: string, count = 1): void {
    this.acknowledged.set(key, (this.acknowledged.get(key) ?? 0) + count);
  }
}

interface Counting {
  readonly tally: Tally;
  stop(): Promise<void>;
}

/** Counts one by one until it is stopped; an error leaves it open whether the increment was counted. */
function countWith(prefix: string, increment: (key: string) => Promise<unknown>): Counting {
  const tally = new Tally(prefix);
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const key = tally.nextKey();
      const isDone = await increment(key).then(
        () => true,
        () => false,
      );
      if (isDone) tally.acknowledge(key);
      else await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    tally,
    async stop() {
      isOver = true;
      await running;
    },
  };
}

/** A client that knows nothing of clusters, on any node: commands are carried to their owner. */
function countPlainly(ports: readonly number[]): Counting {
  let client: TestClient | undefined;
  let at = 0;
  return countWith('plain', async (key) => {
    try {
      client ??= await TestClient.open(ports[at++ % ports.length] as number);
      const reply = await client.call('INCR', key);
      if (!reply.startsWith(':')) throw new Error(reply);
    } catch (error) {
      client?.close();
      client = undefined;
      throw error;
    }
  });
}

function countWithRedisCli(ports: readonly number[]): Counting {
  let at = 0;
  return countWith('cli', async (key) => {
    const port = ports[at % ports.length] as number;
    const { stdout } = await runProgram('redis-cli', ['-c', '-p', String(port), 'INCR', key]);
    if (/^\d+\n$/.test(stdout)) return;
    at++;
    throw new Error(stdout);
  });
}

function countWithPython(ports: readonly number[]): Counting {
  const tally = new Tally('py');
  const program = `
import json, sys, threading, time
from redis.cluster import ClusterNode, RedisCluster
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
acknowledged, client, at = {}, None, 0
while not over.is_set():
    key = "py:%d" % (at % ${KEYS})
    at += 1
    try:
        if client is None:
            client = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", port) for port in ${JSON.stringify(ports)}])
        client.incr(key)
        acknowledged[key] = acknowledged.get(key, 0) + 1
    except Exception:
        client = None
        time.sleep(0.1)
print(json.dumps(acknowledged))
`;
  const child = spawn(PYTHON, ['-c', program], { stdio: ['pipe', 'pipe', 'ignore'] });
  ends.push(() => child.kill('SIGKILL'));
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  return {
    tally,
    async stop() {
      child.stdin.end();
      await once(child, 'close');
      for (const [key, count] of Object.entries(JSON.parse(printed) as Record<string, number>))
        tally.acknowledge(key, count);
    },
  };
}

async function startClients({ names, portOf }: { names: readonly string[]; portOf: (name: string) => number }) {
  const ports = names.map(portOf);
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
  const ioredis = new Cluster(nodes, { clusterRetryStrategy: () => 100, maxRedirections: 100 });
  ioredis.on('error', () => {});
  ends.push(() => ioredis.disconnect());
  const nodeRedis = createCluster({ rootNodes: nodes.map((socket) => ({ socket })) });
  nodeRedis.on('error', () => {});
  await nodeRedis.connect();
  ends.push(() => nodeRedis.destroy());
  return {
    ioredis: countWith('ioredis', (key) => ioredis.incr(key)),
    nodeRedis: countWith('node', (key) => nodeRedis.incr(key)),
    python: countWithPython(ports),
    redisCli: countWithRedisCli(ports),
    plain: countPlainly(ports),
  };
}

/**
 * Who is killed while all slots go to the other group, and how long after something is held: at every step of a batch.
 */
const KILLS: readonly { readonly victims: readonly string[]; readonly afterMs: number }[] = [
  { victims: ['red/eu/a'], afterMs: 0 },
  { victims: ['etcd'], afterMs: 30 },
  { victims: ['blue/us/b'], afterMs: 60 },
  // One of the source and one of the target at once, then etcd with one of each.
  { victims: ['blue/eu/a', 'red/us/b'], afterMs: 120 },
  { victims: ['red/eu/b', 'blue/us/a'], afterMs: 250 },
  { victims: ['etcd', 'blue/eu/b', 'red/us/a'], afterMs: 15 },
  // Both members of a group in a region: its clients there have the other region only.
  { victims: ['red/eu/a', 'red/eu/b'], afterMs: 90 },
  { victims: ['etcd'], afterMs: 400 },
];

async function killAndBringBack(
  running: EtcdCluster,
  victims: readonly string[],
  goesOn: () => Promise<void>,
): Promise<void> {
  const leader = victims.includes('etcd') ? await running.etcd.leader() : undefined;
  const members = victims.filter((name) => name !== 'etcd');
  await Promise.all([
    leader === undefined ? undefined : running.etcd.kill(leader),
    ...members.map((name) => running.kill(name)),
  ]);
  await goesOn();
  if (leader !== undefined) await running.etcd.startAgain(leader);
  await Promise.all(members.map((name) => running.spawn(name).ready()));
}

describeWithEtcd('two groups of two members in two regions, with an etcd of three', () => {
  test('lose no increment of any client while slots move and anything is killed', async () => {
    const running = await EtcdCluster.start({ names: NAMES, etcdMembers: 3, words: LastingState.settings });
    cluster = running;
    const { names } = running;
    const lasting = await LastingState.prepare(running, 'red/');
    const clients = await startClients({ names, portOf: (name) => running.portOf(name) });
    const counted = () =>
      clients.ioredis.tally.total +
      clients.nodeRedis.tally.total +
      clients.redisCli.tally.total +
      clients.plain.tally.total;
    await expect.poll(counted, PATIENT).toBeGreaterThan(200);

    for (const [round, { victims, afterMs }] of KILLS.entries()) {
      const to = round % 2 === 0 ? 'blue' : 'red';
      const { code, stderr } = await running.operate('move', '0-16383', '--to', to, '--yes', '--no-wait');
      expect([victims, code, stderr]).toEqual([victims, 0, '']);
      await expect
        .poll(async () => (await running.document()).moves?.some(({ held }) => held !== undefined) ?? true, {
          ...PATIENT,
          interval: 2,
        })
        .toBe(true);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await killAndBringBack(running, victims, async () => {
        const before = counted();
        await expect.poll(counted, PATIENT).toBeGreaterThan(before + 20);
        await lasting.takeSome();
      });
      await vi.waitFor(async () => expect(await running.movesLeft()).toBe(0), PATIENT);
      await lasting.takeSome();
    }
    for (const { stop } of Object.values(clients)) await stop();

    // All slots are red's again, and every member of red has the same counts.
    for (const { tally } of Object.values(clients)) {
      expect(tally.total).toBeGreaterThan(100);
      for (const [key, acknowledged] of tally.acknowledged)
        await expect
          .poll(() => valuesOf(running, key), PATIENT)
          .toSatisfy((values: readonly number[]) => new Set(values).size === 1 && values[0] >= acknowledged);
    }
    // These two repeat nothing: no increment is there twice. Libraries repeat what was cut off.
    for (const { tally } of [clients.redisCli, clients.plain])
      for (const [key, attempted] of tally.attempted)
        for (const value of await valuesOf(running, key)) expect([key, value <= attempted]).toEqual([key, true]);
    await vi.waitFor(() => lasting.check('red/'), PATIENT);
    for (const name of names.filter((each) => each.startsWith('blue/')))
      await expect.poll(() => running.ask(name, 'DBSIZE'), PATIENT).toBe(':0\r\n');
  });
});

/** As every member of red has it. */
async function valuesOf(running: EtcdCluster, key: string): Promise<number[]> {
  const members = running.names.filter((name) => name.startsWith('red/'));
  const replies = await Promise.all(members.map((name) => running.ask(name, 'GET', key)));
  return replies.map((reply) => Number(reply.split('\r\n')[1]));
}
