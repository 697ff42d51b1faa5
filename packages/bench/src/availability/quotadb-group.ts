import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cleanup, undoNow } from '../machine/cleanup.js';
import { ask, infoField } from '../servers/ask.js';
import { freePorts } from '../servers/free-ports.js';
import { type ServerProcess, startServerProcess } from '../servers/server-process.js';
import { type KillableStore, killProcess, until } from './store.js';

const LETTERS = ['a', 'b', 'c'];
const MEMORY = ['--max-memory', '512mb'];

export interface GroupOptions {
  readonly program: string;
  readonly members: number;
  readonly flags: readonly string[];
  /** With a data directory each. */
  readonly hasDisk: boolean;
}

/** One group that owns all slots, with several members in one region. */
export async function startGroup(options: GroupOptions, cleanup: Cleanup): Promise<KillableStore> {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-group-'));
  cleanup.add(undoNow(() => rmSync(directory, { recursive: true, force: true })));
  const letters = LETTERS.slice(0, options.members);
  const ports = await freePorts(2 * letters.length);
  const [respPorts, replicationPorts] = [ports.slice(0, letters.length), ports.slice(letters.length)];
  const map = join(directory, 'map.json');
  const members = letters.map((member, at) => ({ region: 'us', member, host: '127.0.0.1', port: respPorts[at] }));
  writeFileSync(map, JSON.stringify({ revision: 1, groups: { all: { slots: '0-16383', members } } }));

  const start = (at: number): Promise<ServerProcess> => {
    const peers = letters.flatMap((letter, other) =>
      other === at ? [] : ['--peer', `us/${letter}=127.0.0.1:${replicationPorts[other]}`],
    );
    const data = options.hasDisk ? ['--data', join(directory, letters[at]!)] : [];
    const identity = ['--region', 'us', '--member', letters[at]!, '--group', 'all', '--cluster-map', map];
    const doors = ['--resp', `${respPorts[at]}`, '--http', '0', '--repl', `${replicationPorts[at]}`];
    const words = [options.program, 'serve', ...doors, ...identity, ...peers, ...data, ...MEMORY, ...options.flags];
    const ready = (line: string) => (line.startsWith('{"ready":true') ? { port: respPorts[at]! } : undefined);
    const name = `us/${letters[at]}`;
    return startServerProcess({ name, program: process.execPath, arguments: words, ready, limits: false }, cleanup);
  };
  const running = await Promise.all(letters.map((_, at) => start(at)));
  const isWhole = async () => {
    const states = await Promise.all(
      respPorts.map(async (port) => (await ask(port, 'INFO', 'replication')).match(/state=connected/g)?.length ?? 0),
    );
    return states.every((connected) => connected === letters.length - 1);
  };
  await until('the group is connected', isWhole);

  let killed = 0;
  return {
    version: infoField(await ask(respPorts[0]!, 'INFO', 'server'), 'quotadb_version') ?? 'unknown',
    ports: respPorts,
    async kill(round) {
      killed = round % letters.length;
      await killProcess(running[killed]!);
    },
    async restart() {
      running[killed] = await start(killed);
      await until('the killed member is connected again', isWhole);
    },
  };
}
