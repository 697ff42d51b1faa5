import { loadavg } from 'node:os';
import { integer, names, type Options } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import { describeMachine } from '../machine/describe.js';
import type { AvailabilityRow } from '../results/availability-row.js';
import { median } from '../results/summary.js';
import { requireQuotaDB } from '../servers/quotadb.js';
import { requireRedis } from '../servers/redis.js';
import { startGroup } from './quotadb-group.js';
import { startRedisCluster } from './redis-cluster.js';
import type { Side } from './store.js';
import { Writers } from './writers.js';

const SIDES = ['data', 'replicate', 'redis-1s', 'redis-1s-aof', 'redis', 'redis-aof'] as const;
type SideName = (typeof SIDES)[number];
const LOST_POLLS = 30;

const flags = {
  kills: integer('kills of each side, with a restart between', [1, 1000], '20', '1'),
  clients: integer('cluster clients that write at once', [1, 1000], '8', '4'),
  sides: names('which to measure', SIDES, SIDES.join(',')),
  redis: sharedFlags.redis,
  quotadb: sharedFlags.quotadb,
  smoke: sharedFlags.smoke,
};

/**
 * `quotadb bench availability`: the interruption as clients see it when a server is killed with SIGKILL, and the
 * acknowledged writes that are lost; members of a group beside a stock Redis Cluster with replicas.
 */
export const availability = defineSuite({
  name: 'availability',
  summary: 'how long clients wait when a server is killed, and lost writes, beside a Redis Cluster',
  flags,
  rows: { folder: 'availability', format: formatRow },
  async run(options, run: BenchRun<AvailabilityRow>) {
    for (const name of options.sides) {
      run.signal.throwIfAborted();
      run.keep(await measure(sideOf(name, options, run), options, run));
    }
  },
});

function sideOf(name: SideName, options: Options<typeof flags>, { cleanup }: BenchRun<AvailabilityRow>): Side {
  if (name === 'data' || name === 'replicate') {
    const isData = name === 'data';
    const program = requireQuotaDB(options.quotadb);
    // A reply that waits for one other server needs a third that is left to wait for.
    const members = isData ? 2 : 3;
    const group = { program, members, hasDisk: isData, flags: isData ? [] : ['--replicate-before-reply', '1'] };
    return {
      name: isData ? 'QuotaDB, 2 members, --data' : 'QuotaDB, 3 members in memory, --replicate-before-reply 1',
      servers: members,
      start: () => startGroup(group, cleanup),
      isSafeAtOnce: !isData,
    };
  }
  const nodeTimeoutMs = name.includes('1s') ? 1000 : 15_000;
  const appendOnly = name.endsWith('aof');
  const cluster = { program: requireRedis(options.redis), nodeTimeoutMs, appendOnly };
  return {
    name:
      'Redis Cluster, 3 masters, 3 replicas, ' +
      `cluster-node-timeout ${nodeTimeoutMs}, appendonly ${appendOnly ? 'yes' : 'no'}`,
    servers: 6,
    start: () => startRedisCluster(cluster, cleanup),
    isSafeAtOnce: false,
  };
}

async function measure(
  side: Side,
  { kills, clients }: Options<typeof flags>,
  { stamp, cleanup, signal, progress }: BenchRun<AvailabilityRow>,
): Promise<AvailabilityRow> {
  const store = await side.start();
  const writers = await Writers.connect(store.ports, clients);
  const close = { gently: async () => writers.close(), atOnce: () => writers.close() };
  const closeWriters = cleanup.add(close);
  const longestGapsMs: number[] = [];
  const medianGapsMs: number[] = [];
  let acknowledgedWrites = 0;
  let lostWrites = 0;
  for (let kill = 0; kill < kills; kill++) {
    signal.throwIfAborted();
    await writers.begin(kill);
    await store.kill(kill);
    const gaps = await writers.end();
    longestGapsMs.push(gaps.longestMs);
    medianGapsMs.push(gaps.medianMs);
    acknowledgedWrites += writers.acknowledgedCount;
    if (!side.isSafeAtOnce) await store.restart();
    const lost = await countLost(writers, side.isSafeAtOnce);
    if (side.isSafeAtOnce) await store.restart();
    lostWrites += lost;
    progress(`${side.name}: kill ${kill + 1}, ${Math.round(gaps.longestMs)} ms, ${lost} lost`);
  }
  const { failed } = writers;
  await closeWriters();
  return {
    ...stamp,
    machine: describeMachine(),
    loadAverage: Math.round(loadavg()[0]! * 10) / 10,
    ...{ side: side.name, version: store.version, servers: side.servers, clients },
    ...{ longestGapsMs, medianGapsMs, acknowledgedWrites, lostWrites, failedWrites: failed },
  };
}

/** A member that is back sends its changes within moments: they are waited for, where they may come. */
async function countLost(writers: Writers, isAtOnce: boolean): Promise<number> {
  let lost = await writers.countLost();
  for (let poll = 0; lost > 0 && !isAtOnce && poll < LOST_POLLS; poll++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    lost = await writers.countLost();
  }
  return lost;
}

export function formatRow({ side, version, longestGapsMs, acknowledgedWrites, lostWrites }: AvailabilityRow): string {
  const gaps = `p50 ${Math.round(median(longestGapsMs))} ms, worst ${Math.round(Math.max(...longestGapsMs))} ms`;
  return `${side} (${version}): ${longestGapsMs.length} kills, ${gaps}; ${lostWrites} of ${acknowledgedWrites} writes lost`;
}
