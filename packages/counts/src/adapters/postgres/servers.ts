import type { ClientBase } from 'pg';
import type { ConnectionOptions } from './connection.js';
import type { DatabaseLocator } from './database.js';

/** What stands before the hosts of a URL, the hosts with their ports, and the rest. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/**
 * What `target_session_attrs` may ask for. The names are libpq's; there is no use here for a server that only reads.
 */
const WRITABLE = new Set(['read-write', 'primary']);
const ANY = 'any';

/**
 * The servers of one database, of which at most one takes writes: `postgresql://a:5432,b:5432/db`. The present one is
 * used until a connection to it cannot be made, or cannot write; then it is the turn of the next. The writer and the
 * repository ask again after a pause, so all servers are tried as long as it takes.
 */
export class Servers implements DatabaseLocator {
  readonly #each: readonly ConnectionOptions[];
  readonly #mustWrite: boolean;
  #present = 0;

  constructor(options: ConnectionOptions) {
    this.#each = split(options);
    const wanted = targetOf(options.connectionString ?? '') ?? (this.#each.length > 1 ? 'read-write' : ANY);
    if (wanted !== ANY && !WRITABLE.has(wanted)) {
      const names = [...WRITABLE, ANY].join(', ');
      throw new Error(`--postgres: target_session_attrs is ${JSON.stringify(wanted)}; it must be one of: ${names}`);
    }
    this.#mustWrite = wanted !== ANY;
  }

  async locate(): Promise<ConnectionOptions> {
    return this.#each[this.#present]!;
  }

  async check(client: ClientBase): Promise<void> {
    if (!this.#mustWrite) return;
    const { rows } = await client.query<[string]>({ text: 'SHOW transaction_read_only', rowMode: 'array' });
    if (rows[0]![0] === 'on')
      throw new Error('this PostgreSQL only reads (a standby); looking for the one that writes');
  }

  moveOn(from: ConnectionOptions): void {
    // Several connections may find out at once; only the first of them moves.
    if (from === this.#each[this.#present]) this.#present = (this.#present + 1) % this.#each.length;
  }
}

function split(options: ConnectionOptions): readonly ConnectionOptions[] {
  const parts = URL_PARTS.exec(options.connectionString ?? '');
  if (parts === null) return [options];
  const [, before, hosts, rest] = parts;
  return hosts!.split(',').map((host) => ({ ...options, connectionString: `${before}${host}${rest}` }));
}

function targetOf(url: string): string | undefined {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  return new URLSearchParams(query).get('target_session_attrs') ?? undefined;
}
