import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readMap } from '@quotadb/cluster';
import type { Configuration } from '@quotadb/config';
import { TestClient } from '@quotadb/resp/testing';
import { freePort } from '@quotadb/wire/testing';
import { startTestServer, type TestServer } from './test-server.js';

/** The slots of a group, and the names of its members in the one region that there is. */
export interface TestGroup {
  readonly slots: string;
  readonly members?: readonly string[];
}

/** Groups of servers in this process, on loopback, with a map in a file for each. */
export class TestCluster {
  readonly servers = new Map<string, TestServer>();
  private readonly ports = new Map<string, number>();
  private readonly directory: string;
  private readonly clients: TestClient[] = [];

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Makes a directory and chooses ports for members such as `a` or `a/two`; nothing runs yet. */
  static async prepare(...names: string[]): Promise<TestCluster> {
    const cluster = new TestCluster(await mkdtemp(join(tmpdir(), 'quotadb-cluster-')));
    for (const name of names) cluster.ports.set(name, await freePort());
    return cluster;
  }

  portOf(name: string): number {
    return this.ports.get(name) as number;
  }

  /** The ports are those of TLS where `portField` says so. */
  map(revision: number, groups: Readonly<Record<string, TestGroup>>, portField: 'port' | 'tlsPort' = 'port'): string {
    const described = Object.entries(groups).map(([group, { slots, members = [''] }]) => {
      const listed = members.map((member) => ({
        region: 'local',
        ...(member !== '' && { member }),
        host: '127.0.0.1',
        [portField]: this.portOf(member === '' ? group : `${group}/${member}`),
      }));
      return [group, { slots, members: listed }];
    });
    const text = JSON.stringify({ revision, groups: Object.fromEntries(described) }, undefined, 1);
    readMap(text);
    return text;
  }

  fileOf(name: string): string {
    return join(this.directory, `${name.replace('/', '-')}.json`);
  }

  /** Each node has a file of its own, so that they can differ. */
  async give(text: string, ...names: string[]): Promise<void> {
    for (const name of names) {
      await writeFile(`${this.fileOf(name)}.new`, text);
      await rename(`${this.fileOf(name)}.new`, this.fileOf(name));
    }
  }

  async start(name: string, settings: Partial<Configuration> = {}): Promise<TestServer> {
    const [group, member = ''] = name.split('/');
    const server = await startTestServer({
      ...{ respPort: this.portOf(name), region: 'local', group, member, clusterMapFile: this.fileOf(name) },
      ...settings,
    });
    this.servers.set(name, server);
    return server;
  }

  async stop(name: string): Promise<void> {
    const server = this.servers.get(name);
    this.servers.delete(name);
    await server?.stop();
  }

  /** A client of a server, closed with the cluster. */
  async client(name: string, port = this.portOf(name)): Promise<TestClient> {
    const client = await TestClient.open(port);
    this.clients.push(client);
    return client;
  }

  /** The first group of a pattern in the metrics of a server. */
  async metric(name: string, pattern: RegExp): Promise<string | undefined> {
    return pattern.exec((await this.servers.get(name)?.server.metrics.render()) ?? '')?.[1];
  }

  revisionOf(name: string): Promise<string | undefined> {
    return this.metric(name, /^quotadb_cluster_map_revision (\d+)$/m);
  }

  async remove(): Promise<void> {
    for (const client of this.clients.splice(0)) client.close();
    for (const name of [...this.servers.keys()]) await this.stop(name);
    await rm(this.directory, { recursive: true, force: true });
  }
}

export const TWO_GROUPS: Readonly<Record<'a' | 'b', TestGroup>> = {
  a: { slots: '0-8191' },
  b: { slots: '8192-16383' },
};

/** Two groups of one server each. */
export async function startTwoGroups(settings: Partial<Configuration> = {}): Promise<TestCluster> {
  const cluster = await TestCluster.prepare('a', 'b');
  await cluster.give(cluster.map(1, TWO_GROUPS), 'a', 'b');
  await Promise.all([cluster.start('a', settings), cluster.start('b', settings)]);
  return cluster;
}
