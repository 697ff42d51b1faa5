import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Cleanup, undoNow } from '../machine/cleanup.js';
import { findExecutable, isExecutable } from '../machine/executable.js';
import { ask, infoField } from '../servers/ask.js';
import { freePorts } from '../servers/free-ports.js';
import { type ServerProcess, startServerProcess } from '../servers/server-process.js';
import { type KillableStore, killProcess, until } from './store.js';

const MASTERS = 3;
const NODES = 2 * MASTERS;

export interface RedisClusterOptions {
  readonly program: string;
  readonly nodeTimeoutMs: number;
  readonly appendOnly: boolean;
}

/** A stock Redis Cluster: three masters with a replica each, as `redis-cli --cluster create` makes it. */
export async function startRedisCluster(options: RedisClusterOptions, cleanup: Cleanup): Promise<KillableStore> {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-redis-cluster-'));
  cleanup.add(undoNow(() => rmSync(directory, { recursive: true, force: true })));
  const all = await freePorts(2 * NODES);
  const [ports, busPorts] = [all.slice(0, NODES), all.slice(NODES)];
  const start = (at: number): Promise<ServerProcess> => {
    const home = join(directory, `${at}`);
    mkdirSync(home, { recursive: true });
    const words = [
      ...['--port', ports[at], '--bind', '127.0.0.1', '--dir', home, '--cluster-enabled', 'yes'],
      ...['--cluster-port', busPorts[at], '--cluster-node-timeout', options.nodeTimeoutMs],
      ...['--appendonly', options.appendOnly ? 'yes' : 'no'],
    ].map(String);
    const ready = (line: string) =>
      line.includes('Ready to accept connections') ? { port: ports[at] as number } : undefined;
    const name = `redis-${at}`;
    return startServerProcess({ name, program: options.program, arguments: words, ready, limits: false }, cleanup);
  };
  const running = await Promise.all(ports.map((_, at) => start(at)));
  const create = ['--cluster', 'create', ...ports.map((port) => `127.0.0.1:${port}`), '--cluster-replicas', '1'];
  await promisify(execFile)(redisCliBeside(options.program), [...create, '--cluster-yes']);
  const isWhole = async () => (await Promise.all(ports.map(isReady))).every((isTrue) => isTrue);
  await until('the Redis Cluster is whole', isWhole);

  let killed = 0;
  return {
    version: infoField(await ask(ports[0]!, 'INFO', 'server'), 'redis_version') ?? 'unknown',
    ports,
    async kill(round) {
      const roles = await Promise.all(ports.map(async (port) => (await ask(port, 'ROLE')).startsWith('master')));
      const masters = ports.flatMap((_, at) => (roles[at] ? [at] : []));
      killed = masters[round % masters.length]!;
      await killProcess(running[killed]!);
    },
    async restart() {
      running[killed] = await start(killed);
      await until('the Redis Cluster is whole again', isWhole);
    },
  };
}

/** It agrees on the cluster, knows of no failed node and, as a replica, holds what its master has. */
async function isReady(port: number): Promise<boolean> {
  const [cluster, nodes, replication] = await Promise.all([
    ask(port, 'CLUSTER', 'INFO'),
    ask(port, 'CLUSTER', 'NODES'),
    ask(port, 'INFO', 'replication'),
  ]);
  if (!cluster.includes('cluster_state:ok') || nodes.includes('fail')) return false;
  const isMaster = infoField(replication, 'role') === 'master';
  if (isMaster) return infoField(replication, 'connected_slaves') === '1';
  return infoField(replication, 'master_link_status') === 'up';
}

function redisCliBeside(redis: string): string {
  const beside = join(dirname(redis), 'redis-cli');
  const found = isExecutable(beside) ? beside : findExecutable('redis-cli');
  if (found === undefined) throw new Error('redis-cli was not found; it comes with Redis (Debian: redis-tools)');
  return found;
}
