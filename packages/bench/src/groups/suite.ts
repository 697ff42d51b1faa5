import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { promisify } from 'node:util';
import { integer, integers, type Options } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import { cpuMicrosecondsBetween, sampleCpu } from '../machine/cpu-time.js';
import { describeMachine } from '../machine/describe.js';
import { byTurns } from '../measure/rounds.js';
import type { GroupsRow } from '../results/groups-row.js';
import { summarize } from '../results/summary.js';
import { ask, infoField } from '../servers/ask.js';
import { requireQuotaDB } from '../servers/quotadb.js';
import { requireRedis } from '../servers/redis.js';
import type { ServerProcess } from '../servers/server-process.js';
import { findRedisBenchmark, parseReport } from '../side-by-side/redis-benchmark.js';
import { startGroups, startMasters } from './nodes.js';

const KEYS_AT_ONCE = 5000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

const flags = {
  groups: integers('numbers of groups', [1, 16], '1,2,4', '1,2'),
  keys: integer('keys, in all groups together', [1, 100_000_000], '200000', '2000'),
  requests: integer(
    'increments of a round, for each group, after as many to warm up',
    [1, 10_000_000],
    '300000',
    '5000',
  ),
  connections: integer(
    'clients at once, for each group: so that every node is as busy as one alone',
    [1, 1000],
    '20',
    '4',
  ),
  pipelines: integers('requests sent before waiting for replies', [1, 1024], '1,16', '16'),
  rounds: sharedFlags.rounds,
  redis: sharedFlags.redis,
  quotadb: sharedFlags.quotadb,
  smoke: sharedFlags.smoke,
};

interface GroupsRound {
  readonly bytesPerNode: number;
  readonly throughputPerSecond: number;
  readonly serverCpuMicrosecondsPerOperation: number;
}

/**
 * `quotadb bench groups`: the memory of a node, and the CPU time of an increment, for the same keys and load on one
 * group and on several, each a server of one lane. The client is redis-benchmark, which reads the map and sends every
 * increment to the node that has its key. On a machine with few processors the throughput cannot grow; the cost must
 * not either. The control is a stock Redis Cluster of as many masters: what more processes than processors cost, it
 * pays too.
 */
export const groups = defineSuite({
  name: 'groups',
  summary: 'bytes a node and CPU time an operation, on one group and on several',
  flags,
  rows: { folder: 'groups', format: formatRow },
  async run(options, run: BenchRun<GroupsRow>) {
    for (const pipeline of options.pipelines) {
      const sides = options.groups.flatMap((count) => [
        { count, name: 'groups', start: () => startGroups(requireQuotaDB(options.quotadb), count, run.cleanup) },
        { count, name: 'Redis masters', start: () => startMasters(requireRedis(options.redis), count, run.cleanup) },
      ]);
      const measured = await byTurns(sides, options.rounds, (side) => measureNodes(side, pipeline, options, run));
      for (const [index, count] of options.groups.entries()) {
        run.keep({
          ...run.stamp,
          machine: describeMachine(),
          loadAverage: Math.round(loadavg()[0]! * 10) / 10,
          ...{ groups: count, keys: options.keys, client: 'redis-benchmark --cluster', pipeline },
          connections: options.connections,
          ...summarize(measured[2 * index]!),
          redis: summarize(measured[2 * index + 1]!),
        });
      }
    }
  },
});

interface Side {
  readonly count: number;
  readonly name: string;
  readonly start: () => Promise<ServerProcess[]>;
}

async function measureNodes(
  { count, name, start }: Side,
  pipeline: number,
  options: Options<typeof flags>,
  run: BenchRun<GroupsRow>,
): Promise<GroupsRound> {
  run.signal.throwIfAborted();
  const nodes = await start();
  const before = await usedBytes(nodes);
  await fill(nodes[0]!.port, options.keys);
  const after = await usedBytes(nodes);
  const program = findRedisBenchmark(requireRedis(options.redis));
  const send = (requests: number) => {
    const load = ['-c', count * options.connections, '-P', pipeline, '-n', requests, '-r', options.keys, '-t', 'incr'];
    // It takes a cluster of one node for a mistake; there the same keys need no map.
    const mode = nodes.length === 1 ? [] : ['--cluster'];
    const words = [...mode, '-h', '127.0.0.1', '-p', nodes[0]!.port, ...load].map(String);
    return promisify(execFile)(program, words, { signal: run.signal, maxBuffer: MAX_OUTPUT_BYTES });
  };
  // A server is compiled as it runs: each gets as many increments as one alone.
  await send(count * options.requests);
  const cpuBefore = nodes.map(({ pid }) => sampleCpu(pid));
  const { stdout } = await send(count * options.requests);
  const cpu = nodes.map(({ pid }, at) => cpuMicrosecondsBetween(cpuBefore[at], sampleCpu(pid)) ?? Number.NaN);
  const { operations, elapsedMs } = parseReport(stdout);
  for (const node of nodes) await node.stop();
  run.progress(`${count} ${name}, pipeline ${pipeline}: ${Math.round((operations * 1000) / elapsedMs)} operations/s`);
  return {
    bytesPerNode: Math.max(...after.map((used, at) => used - before[at]!)),
    throughputPerSecond: (operations * 1000) / elapsedMs,
    serverCpuMicrosecondsPerOperation: cpu.reduce((sum, one) => sum + one, 0) / operations,
  };
}

/** Through a cluster client, so that every key goes to its owner. */
async function fill(port: number, keys: number): Promise<void> {
  // The library is installed for development only.
  const { Cluster } = await import('ioredis');
  const client = new Cluster([{ host: '127.0.0.1', port }]);
  try {
    for (let at = 0; at < keys; at += KEYS_AT_ONCE) {
      const some = Array.from({ length: Math.min(KEYS_AT_ONCE, keys - at) }, (_, index) => `counter:${at + index}`);
      await Promise.all(some.map((key) => client.incr(key)));
    }
  } finally {
    client.disconnect();
  }
}

function usedBytes(nodes: readonly ServerProcess[]): Promise<number[]> {
  return Promise.all(
    nodes.map(async ({ port }) => Number(infoField(await ask(port, 'INFO', 'memory'), 'used_memory') ?? Number.NaN)),
  );
}

function formatRow(row: GroupsRow): string {
  const { groups, pipeline, bytesPerNode, throughputPerSecond, serverCpuMicrosecondsPerOperation: cpu, redis } = row;
  const mebibytes = (bytesPerNode.median / 1024 ** 2).toFixed(1);
  return (
    `${groups} groups, pipeline ${pipeline}: ${mebibytes} MiB on the fullest node, ` +
    `${Math.round(throughputPerSecond.median)} operations/s, ${cpu.median.toFixed(2)} µs of CPU time each; ` +
    `as many Redis masters: ${redis?.serverCpuMicrosecondsPerOperation.median.toFixed(2) ?? '?'} µs`
  );
}
