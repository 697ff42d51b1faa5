import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TcpProxy } from '@quotadb/wire/proxy';
import pg from 'pg';
import { EmbeddedPostgres } from '../adapters/embedded/embedded-postgres.js';
import type { ConnectionOptions } from '../adapters/postgres/connection.js';
import { until } from './until.js';

const run = promisify(execFile);
const socketOf = ({ host }: ConnectionOptions) => `${host}/.s.PGSQL.5432`;

/** A primary whose commits wait for a standby that streams from it: what was acknowledged is on both. */
export class ReplicatedPair {
  readonly #folder: string;
  readonly #primary: EmbeddedPostgres;
  readonly #standby: EmbeddedPostgres;
  readonly #standbyOptions: ConnectionOptions;
  /** An address before each of them. */
  readonly addresses: readonly [primary: TcpProxy, standby: TcpProxy];

  static async start(): Promise<ReplicatedPair> {
    const folder = await mkdtemp(join(tmpdir(), 'quotadb-failover-'));
    const directory = (name: string) => join(folder, name);
    const first = new EmbeddedPostgres({ directory: directory('primary') });
    await first.start();
    await first.stop();
    await run('cp', ['-a', directory('primary'), directory('standby')]);
    await writeFile(join(directory('standby'), 'standby.signal'), '');
    const primary = new EmbeddedPostgres({
      directory: directory('primary'),
      settings: ['synchronous_standby_names=*'],
    });
    const options = await primary.start();
    const source = `primary_conninfo=host=${options.host} user=${options.user}`;
    const standby = new EmbeddedPostgres({ directory: directory('standby'), settings: [source] });
    const standbyOptions = await standby.start();
    const addresses = [await TcpProxy.open(socketOf(options)), await TcpProxy.open(socketOf(standbyOptions))] as const;
    return new ReplicatedPair(folder, primary, standby, standbyOptions, addresses);
  }

  private constructor(
    folder: string,
    primary: EmbeddedPostgres,
    standby: EmbeddedPostgres,
    standbyOptions: ConnectionOptions,
    addresses: readonly [TcpProxy, TcpProxy],
  ) {
    this.#folder = folder;
    this.#primary = primary;
    this.#standby = standby;
    this.#standbyOptions = standbyOptions;
    this.addresses = addresses;
  }

  /** A URL of PostgreSQL at these ports of this machine. */
  url(...ports: readonly number[]): string {
    const { user, database } = this.#standbyOptions;
    return `postgresql://${user}@${ports.map((port) => `127.0.0.1:${port}`).join()}/${database}?sslmode=disable`;
  }

  async killPrimary(): Promise<void> {
    process.kill(this.#primary.pid!, 'SIGQUIT');
    await until(() => this.#primary.pid === undefined);
  }

  /** The address of the primary becomes one of the standby, as a virtual IP or a DNS name does. */
  moveAddress(): void {
    this.addresses[0].target = socketOf(this.#standbyOptions);
  }

  async promoteStandby(): Promise<void> {
    await this.#ask('SELECT pg_promote()');
  }

  /** What the standby, the primary by now, has stored. */
  async values(): Promise<Map<string, number>> {
    const rows = await this.#ask<{ item_id: string; current_value: string }>(
      'SELECT item_id, current_value FROM count_values',
    );
    return new Map(rows.map(({ item_id: itemId, current_value: value }) => [itemId, Number(value)]));
  }

  async stop(): Promise<void> {
    for (const address of this.addresses) await address.close();
    await this.#standby.stop();
    await this.#primary.stop();
    await rm(this.#folder, { recursive: true });
  }

  async #ask<Row extends pg.QueryResultRow>(statement: string): Promise<Row[]> {
    const session = new pg.Client(this.#standbyOptions);
    await session.connect();
    try {
      return (await session.query<Row>(statement)).rows;
    } finally {
      await session.end();
    }
  }
}
