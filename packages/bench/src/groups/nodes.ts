import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../availability/store.js';
import { type Cleanup, undoNow } from '../machine/cleanup.js';
import { ask } from '../servers/ask.js';
import { freePorts } from '../servers/free-ports.js';
import { type ServerProcess, startServerProcess } from '../servers/server-process.js';

const SLOTS = 16_384;

/** Groups of one server with one lane each, with equal parts of the slots. */
export async function startGroups(program: string, count: number, cleanup: Cleanup): Promise<ServerProcess[]> {
  const ports = await freePorts(count);
  const members = (port: number) => [{ region: 'us', host: '127.0.0.1', port }];
  const described = ports.map((port, at) => [
    `g${at}`,
    { slots: slotsOf(at, count).join('-'), members: members(port) },
  ]);
  const map = join(makeDirectory(cleanup), 'map.json');
  writeFileSync(map, JSON.stringify({ revision: 1, groups: Object.fromEntries(described) }));
  return Promise.all(
    ports.map((port, at) => {
      const identity = ['--region', 'us', '--group', `g${at}`, '--cluster-map', map];
      const doors = ['--resp', `${port}`, '--http', '0', '--repl', '-1', '--lanes', '1'];
      const ready = (line: string) => (line.startsWith('{"ready":true') ? { port } : undefined);
      const words = [program, 'serve', ...doors, ...identity];
      const command = { name: `g${at}`, program: process.execPath, arguments: words, ready, limits: false };
      return startServerProcess(command, cleanup);
    }),
  );
}

/** As many masters of a stock Redis Cluster, without replicas and in memory, with the same slots. */
export async function startMasters(program: string, count: number, cleanup: Cleanup): Promise<ServerProcess[]> {
  const directory = makeDirectory(cleanup);
  const all = await freePorts(2 * count);
  const [ports, busPorts] = [all.slice(0, count), all.slice(count)];
  const nodes = await Promise.all(
    ports.map((port, at) => {
      const home = join(directory, `${at}`);
      mkdirSync(home);
      const doors = ['--port', port, '--cluster-port', busPorts[at], '--bind', '127.0.0.1', '--dir', home];
      const words = [...doors, '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--save', ''].map(
        String,
      );
      const ready = (line: string) => (line.includes('Ready to accept connections') ? { port } : undefined);
      return startServerProcess({ name: `redis-${at}`, program, arguments: words, ready, limits: false }, cleanup);
    }),
  );
  for (const [at, port] of ports.entries()) {
    await ask(port, 'CLUSTER', 'ADDSLOTSRANGE', ...slotsOf(at, count).map(String));
    await ask(port, 'CLUSTER', 'SET-CONFIG-EPOCH', `${at + 1}`);
  }
  for (const [at, port] of ports.entries())
    if (at > 0) await ask(ports[0]!, 'CLUSTER', 'MEET', '127.0.0.1', `${port}`, `${busPorts[at]}`);
  const isWhole = async (port: number) => {
    const info = await ask(port, 'CLUSTER', 'INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}`);
  };
  await until('the Redis Cluster is whole', async () => (await Promise.all(ports.map(isWhole))).every(Boolean));
  return nodes;
}

/** The first and the last slot of a node. */
function slotsOf(at: number, count: number): readonly [number, number] {
  const first = (node: number) => Math.floor((node * SLOTS) / count);
  return [first(at), first(at + 1) - 1];
}

function makeDirectory(cleanup: Cleanup): string {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-groups-'));
  cleanup.add(undoNow(() => rmSync(directory, { recursive: true, force: true })));
  return directory;
}
