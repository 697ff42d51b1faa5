import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MapDocument } from '@quotadb/cluster';
import { EtcdMapStore } from '@quotadb/cluster/etcd';
import { TestClient } from '@quotadb/resp/testing';
import { EtcdServers, freePort } from '@quotadb/wire/testing';
import { runProgram } from './run-program.js';
import { QUOTADB_BINARY, SpawnedServer } from './spawned-server.js';

export const LAST_SLOT = 16_383;

export interface EtcdClusterOptions {
  /** Names of servers, as `red/eu/a`: group, region, member. The first group has all slots. */
  readonly names: readonly string[];
  readonly etcdMembers?: number;
  /** Of every server, beside what makes it a member of its group. */
  readonly words?: readonly string[];
}

interface Place {
  readonly resp: number;
  readonly repl: number;
}

/** Groups of real servers, each with a data directory, and their map in a real etcd. */
export class EtcdCluster {
  readonly etcd: EtcdServers;
  readonly store: EtcdMapStore;
  readonly names: readonly string[];
  private readonly words: readonly string[];
  private readonly directory: string;
  private readonly places: ReadonlyMap<string, Place>;
  private readonly servers = new Map<string, SpawnedServer>();
  private readonly logs = new Map<string, string>();

  private constructor(
    { names, words = [] }: EtcdClusterOptions,
    etcd: EtcdServers,
    directory: string,
    places: ReadonlyMap<string, Place>,
  ) {
    this.names = names;
    this.words = words;
    this.etcd = etcd;
    this.directory = directory;
    this.places = places;
    this.store = new EtcdMapStore({ urls: etcd.urls, prefix: '/quotadb', leaseSeconds: 10 });
  }

  static async start(options: EtcdClusterOptions): Promise<EtcdCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-etcd-cluster-'));
    const etcd = await EtcdServers.start({ members: options.etcdMembers ?? 1 });
    const places = new Map<string, Place>();
    for (const name of options.names) places.set(name, { resp: await freePort(), repl: await freePort() });
    const cluster = new EtcdCluster(options, etcd, directory, places);
    await cluster.store.replace(undefined, cluster.firstMap());
    for (const name of options.names) cluster.spawn(name);
    await Promise.all([...cluster.servers.values()].map((server) => server.ready()));
    return cluster;
  }

  portOf(name: string): number {
    return (this.places.get(name) as Place).resp;
  }

  logOf(name: string): string {
    return this.logs.get(name) ?? '';
  }

  spawn(name: string): SpawnedServer {
    const [group, region, member] = name.split('/') as [string, string, string];
    const { resp, repl } = this.places.get(name) as Place;
    const peers = this.names
      .filter((other) => other !== name && other.startsWith(`${group}/`))
      .flatMap((other) => {
        const address = `127.0.0.1:${(this.places.get(other) as Place).repl}`;
        return ['--peer', `${other.slice(group.length + 1)}=${address}`];
      });
    const server = new SpawnedServer([
      ...['serve', '--region', region, '--member', member, '--group', group, '--cluster', group, ...peers],
      ...['--etcd', this.etcd.urls.join(), '--etcd-lease', '2s', '--resp', String(resp), '--http', '0'],
      ...['--repl', String(repl), '--data', join(this.directory, name.replaceAll('/', '-'))],
      ...['--log-format', 'json', ...this.words],
    ]);
    this.servers.set(name, server);
    server.child.stderr?.on('data', (chunk) => this.logs.set(name, `${this.logOf(name)}${chunk}`));
    return server;
  }

  async kill(name: string): Promise<void> {
    const server = this.servers.get(name);
    this.servers.delete(name);
    server?.child.kill('SIGKILL');
    await server?.finished;
  }

  /** The bytes of one reply of one server. */
  async ask(name: string, ...words: (string | number)[]): Promise<string> {
    const client = await TestClient.open(this.portOf(name));
    try {
      return await client.call(...words);
    } finally {
      client.close();
    }
  }

  /** `quotadb cluster …`, as an operator runs it. */
  operate(...words: readonly string[]): ReturnType<typeof runProgram> {
    return runProgram(process.execPath, [QUOTADB_BINARY, 'cluster', ...words, '--etcd', this.etcd.urls.join()]);
  }

  async document(): Promise<MapDocument> {
    return (await this.store.read())?.document as MapDocument;
  }

  async movesLeft(): Promise<number> {
    return (await this.document()).moves?.length ?? 0;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.servers.values()].map((server) => server.stop()));
    await this.store.stop();
    await this.etcd.remove();
    await rm(this.directory, { recursive: true });
  }

  private firstMap(): MapDocument {
    const groups = [...new Set(this.names.map((name) => name.split('/')[0] as string))];
    const membersOf = (group: string) =>
      this.names
        .filter((name) => name.startsWith(`${group}/`))
        .map((name) => {
          const [, region, member] = name.split('/') as [string, string, string];
          return { region, member, host: '127.0.0.1', port: this.portOf(name) };
        });
    return {
      revision: 1,
      groups: Object.fromEntries(
        groups.map((group, at) => [group, { ...(at === 0 && { slots: `0-${LAST_SLOT}` }), members: membersOf(group) }]),
      ),
    };
  }
}
