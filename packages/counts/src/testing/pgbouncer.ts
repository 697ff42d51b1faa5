import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@quotadb/wire/testing';
import { describe } from 'vitest';
import { chooseAccount } from '../adapters/embedded/account.js';
import type { ConnectionOptions } from '../adapters/postgres/connection.js';

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find((path) =>
  existsSync(path),
);

/** `describe` where there is a PgBouncer. Elsewhere the tests are skipped and say so, except in CI, where they fail. */
export function describeWithPgBouncer(name: string, body: () => void): void {
  if (PROGRAM !== undefined || process.env.CI === 'true') describe(name, body);
  else describe.skip(`${name} (skipped: no pgbouncer on this machine)`, body);
}

/** A PgBouncer before a PostgreSQL, which gives each transaction whichever connection is free. */
export class PgBouncer {
  readonly options: ConnectionOptions;
  readonly #process: ChildProcess;
  readonly #folder: string;

  static async start(postgres: ConnectionOptions, poolSize: number): Promise<PgBouncer> {
    if (PROGRAM === undefined) throw new Error('PgBouncer is missing: apt-get install pgbouncer');
    const folder = await mkdtemp(join(tmpdir(), 'quotadb-pgbouncer-'));
    await chmod(folder, 0o755);
    const port = await freePort();
    const file = join(folder, 'pgbouncer.ini');
    const { host, port: postgresPort, user, database } = postgres;
    await writeFile(
      file,
      `[databases]
${database} = host=${host} port=${postgresPort} user=${user} dbname=${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 100
`,
    );
    // It runs as whom PostgreSQL runs: only that account reaches the socket, and root is refused by both.
    const bouncer = spawn(PROGRAM, ['-q', file], { ...(await chooseAccount()), stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    bouncer.stderr!.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const started = new PgBouncer({ host: '127.0.0.1', port, user: user!, database: database! }, bouncer, folder);
    await untilItListens(port, bouncer, () => log);
    return started;
  }

  private constructor(options: ConnectionOptions, bouncer: ChildProcess, folder: string) {
    this.options = options;
    this.#process = bouncer;
    this.#folder = folder;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGKILL');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function untilItListens(port: number, bouncer: ChildProcess, log: () => string): Promise<void> {
  for (;;) {
    if (bouncer.exitCode !== null) throw new Error(`PgBouncer did not start: ${log()}`);
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
