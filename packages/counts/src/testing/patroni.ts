import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@quotadb/wire/testing';
import { describe } from 'vitest';
import { chooseAccount } from '../adapters/embedded/account.js';
import { until } from './until.js';

const PROGRAMS = { etcd: '/usr/bin/etcd', patroni: '/usr/bin/patroni' };
const POSTGRES_HOME = '/usr/lib/postgresql';
const SUPERUSER = 'postgres';
/** Kept of what a program said, to explain a start that failed. */
const KEPT_LOG_CHARACTERS = 4_000;

/** `describe` where there are Patroni, etcd and PostgreSQL (on Debian); elsewhere the tests are skipped and say so. */
export function describeWithPatroni(name: string, body: () => void): void {
  const isThere = [...Object.values(PROGRAMS), POSTGRES_HOME].every((path) => existsSync(path));
  if (isThere) describe(name, body);
  else describe.skip(`${name} (skipped: apt-get install patroni etcd-server postgresql)`, body);
}

/** A PostgreSQL with the Patroni that looks after it: as much as one machine of a cluster. */
class PatroniNode {
  readonly port: number;
  readonly #folder: string;
  readonly #api: string;
  #patroni: ChildProcess | undefined;

  constructor(folder: string, port: number, apiPort: number) {
    this.#folder = folder;
    this.port = port;
    this.#api = `http://127.0.0.1:${apiPort}`;
  }

  async start(): Promise<void> {
    this.#patroni = await startProgram(PROGRAMS.patroni, [join(this.#folder, 'patroni.json')], this.#folder);
  }

  /** The machine loses its power: Patroni and all of PostgreSQL end at once. */
  async kill(): Promise<void> {
    const postmaster = await this.#postmaster();
    const pids = [this.#patroni?.pid, postmaster, ...(await childrenOf(postmaster))].filter((pid) => pid !== undefined);
    // None of them may see another end, and do something about it.
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of pids) signalIfThere(pid, signal);
    await until(() => pids.every((pid) => !existsSync(`/proc/${pid}/exe`)));
  }

  /** Whether Patroni says this of it: it is the `primary`, or a standby that commits wait for (`synchronous`). */
  async is(role: 'primary' | 'synchronous'): Promise<boolean> {
    return fetch(`${this.#api}/${role}`, { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async #postmaster(): Promise<number | undefined> {
    const text = await readFile(join(this.#folder, 'data', 'postmaster.pid'), 'utf8').catch(() => '');
    return text === '' ? undefined : Number.parseInt(text, 10);
  }
}

/** Two nodes that replicate synchronously, and the etcd that knows which of them is the primary. */
export class PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  readonly #etcd: ChildProcess;
  readonly #folder: string;

  static async start(): Promise<PatroniCluster> {
    const account = await chooseAccount();
    const folder = await mkdtemp(join(tmpdir(), 'quotadb-patroni-'));
    await chmod(folder, 0o755);
    const [etcdPort, peerPort] = [await freePort(), await freePort()];
    const etcdFolder = await ownFolder(join(folder, 'etcd'), account);
    const url = `http://127.0.0.1:${etcdPort}`;
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    const flags = {
      'data-dir': join(etcdFolder, 'data'),
      'listen-client-urls': url,
      'advertise-client-urls': url,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
    };
    const etcd = await startProgram(
      PROGRAMS.etcd,
      Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      etcdFolder,
    );
    await until(() => isHealthy(url));
    const nodes: PatroniNode[] = [];
    for (const name of ['a', 'b']) {
      const nodeFolder = await ownFolder(join(folder, name), account);
      const [port, apiPort] = [await freePort(), await freePort()];
      const settings = patroniSettings({ name, folder: nodeFolder, port, apiPort, etcdPort });
      await writeFile(join(nodeFolder, 'patroni.json'), JSON.stringify(settings));
      nodes.push(new PatroniNode(nodeFolder, port, apiPort));
    }
    const cluster = new PatroniCluster(nodes, etcd, folder);
    try {
      for (const node of nodes) await node.start();
      await until(() => cluster.isWhole());
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  private constructor(nodes: readonly PatroniNode[], etcd: ChildProcess, folder: string) {
    this.nodes = nodes;
    this.#etcd = etcd;
    this.#folder = folder;
  }

  get url(): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join();
    return `postgresql://${SUPERUSER}@${hosts}/postgres?sslmode=disable&target_session_attrs=read-write`;
  }

  async primary(): Promise<PatroniNode | undefined> {
    for (const node of this.nodes) if (await node.is('primary')) return node;
    return undefined;
  }

  /** One node writes, and its commits wait for the other. */
  async isWhole(): Promise<boolean> {
    const [a, b] = this.nodes as [PatroniNode, PatroniNode];
    return ((await a.is('primary')) && (await b.is('synchronous'))) || ((await b.is('primary')) && a.is('synchronous'));
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.kill();
    signalIfThere(this.#etcd.pid, 'SIGKILL');
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface NodeSettings {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly apiPort: number;
  readonly etcdPort: number;
}

/** The primary's key lives as short as Patroni takes: the standby waits that long before it promotes itself. */
function patroniSettings({ name, folder, port, apiPort, etcdPort }: NodeSettings): object {
  return {
    scope: 'counts',
    name,
    restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { wal_log_hints: 'on', max_connections: 50 } },
      },
      initdb: [{ encoding: 'UTF8' }, { auth: 'trust' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(folder, 'data'),
      bin_dir: join(POSTGRES_HOME, newestVersion(), 'bin'),
      pgpass: join(folder, 'pgpass'),
      authentication: { superuser: { username: SUPERUSER }, replication: { username: SUPERUSER } },
      pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      parameters: { unix_socket_directories: folder },
    },
  };
}

function newestVersion(): string {
  return readdirSync(POSTGRES_HOME).sort((one, other) => Number(other) - Number(one))[0]!;
}

async function startProgram(program: string, args: readonly string[], folder: string): Promise<ChildProcess> {
  const account = await chooseAccount();
  const { PATH } = process.env;
  const env = { PATH, HOME: folder, LC_ALL: 'C.UTF-8' };
  const started = spawn(program, args, { ...account, cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [started.stdout!, started.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-KEPT_LOG_CHARACTERS);
    });
  }
  started.once('exit', (code) => {
    if (code !== null && code !== 0) process.stderr.write(`${program} ended with ${code}:\n${log}\n`);
  });
  return started;
}

async function ownFolder(path: string, account: { readonly uid: number; readonly gid: number } | undefined) {
  await mkdir(path, { mode: 0o700 });
  if (account !== undefined) await chown(path, account.uid, account.gid);
  return path;
}

async function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function childrenOf(pid: number | undefined): Promise<number[]> {
  if (pid === undefined) return [];
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

function signalIfThere(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
