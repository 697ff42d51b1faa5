import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { freePort } from './redis-server.js';

const etcdFound: boolean = spawnSync('etcd', ['--version']).status === 0;

/** `describe` where there is an etcd. Elsewhere the tests are skipped and say so, except in CI, where they fail. */
export function describeWithEtcd(name: string, body: () => void): void {
  if (etcdFound || process.env.CI === 'true') describe(name, body);
  else describe.skip(`${name} (skipped: no etcd on this machine)`, body);
}

export interface EtcdOptions {
  readonly members?: number;
  /** The scheme of the client URLs. */
  readonly scheme?: 'http' | 'https';
  readonly extraArguments?: readonly string[];
}

interface EtcdMember {
  readonly url: string;
  readonly words: readonly string[];
  child: ChildProcess | undefined;
}

/** Real etcd processes of the machine's, on loopback, in a directory that goes with them. */
export class EtcdServers {
  private readonly directory: string;
  private readonly members: readonly EtcdMember[];

  private constructor(directory: string, members: readonly EtcdMember[]) {
    this.directory = directory;
    this.members = members;
  }

  static async start({
    members: count = 1,
    scheme = 'http',
    extraArguments = [],
  }: EtcdOptions = {}): Promise<EtcdServers> {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-etcd-'));
    const ports: { readonly client: number; readonly peer: number }[] = [];
    for (let index = 0; index < count; index++) ports.push({ client: await freePort(), peer: await freePort() });
    const all = ports.map(({ peer }, index) => `m${index}=http://127.0.0.1:${peer}`).join(',');
    const members = ports.map(({ client, peer }, index) => {
      const [url, peerUrl] = [`${scheme}://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
      const words = [
        ...['--name', `m${index}`, '--data-dir', join(directory, `m${index}`), '--initial-cluster', all],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
        ...extraArguments,
      ];
      return { url, words, child: undefined };
    });
    const servers = new EtcdServers(directory, members);
    await Promise.all(members.map((_, index) => servers.startAgain(index)));
    return servers;
  }

  get urls(): readonly string[] {
    return this.members.map(({ url }) => url);
  }

  /** With its data; resolves when it serves clients. */
  async startAgain(index = 0): Promise<void> {
    const member = this.members[index];
    const child = spawn('etcd', member.words, { stdio: ['ignore', 'pipe', 'pipe'] });
    member.child = child;
    // A test run that dies must not leave its servers behind.
    const killWithUs = () => child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('close', () => process.removeListener('exit', killWithUs));
    await new Promise<void>((resolve, reject) => {
      let output = '';
      const look = (chunk: Buffer) => {
        output += chunk.toString();
        if (!output.includes('ready to serve client requests')) return;
        child.stdout?.off('data', look).resume();
        child.stderr?.off('data', look).resume();
        resolve();
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
      child.once('error', (error) => reject(new Error('etcd cannot be started', { cause: error })));
      child.once('close', (code) => reject(new Error(`etcd ended with ${code}:\n${output}`)));
    });
  }

  async kill(index = 0): Promise<void> {
    const { child } = this.members[index];
    this.members[index].child = undefined;
    if (child === undefined) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  /** Takes a backup of the first member, which is restarted for it. */
  async backUp(): Promise<void> {
    await this.exchange(join(this.directory, 'm0'), this.backup);
  }

  /** The first member as it was at the backup. */
  async restore(): Promise<void> {
    await this.exchange(this.backup, join(this.directory, 'm0'));
  }

  /** Stands still, with all its connections, until it is resumed. */
  pause(index = 0): void {
    this.members[index].child?.kill('SIGSTOP');
  }

  resume(index = 0): void {
    this.members[index].child?.kill('SIGCONT');
  }

  /** Which of them leads. */
  async leader(): Promise<number> {
    const statuses = await Promise.all(
      this.urls.map(async (url) => {
        const response = await fetch(`${url}/v3/maintenance/status`, { method: 'POST', body: '{}' });
        return (await response.json()) as { leader: string; header: { member_id: string } };
      }),
    );
    return statuses.findIndex(({ leader, header }) => leader === header.member_id);
  }

  /** One call of the JSON gateway. */
  async call(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.urls[0]}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  }

  private get backup(): string {
    return join(this.directory, 'backup');
  }

  private async exchange(from: string, to: string): Promise<void> {
    await this.kill();
    await rm(to, { recursive: true, force: true });
    await cp(from, to, { recursive: true });
    await this.startAgain();
  }

  async remove(): Promise<void> {
    await Promise.all(this.members.map((_, index) => this.kill(index)));
    await rm(this.directory, { recursive: true, force: true });
  }
}
