import { type ProxiedConnection, TcpProxy } from '@quotadb/wire/proxy';
import type { ConnectionOptions } from '../adapters/postgres/connection.js';

/** Stands between the service and PostgreSQL and loses the answers that a test names. */
export class LossyProxy {
  /** Armed by a test: statements that contain this text reach PostgreSQL, their answers do not come back. */
  loseAnswerTo: string | undefined;
  /** How many answers have been lost. */
  lost = 0;
  readonly #proxy: TcpProxy;
  readonly #database: ConnectionOptions;

  static async start(database: ConnectionOptions): Promise<LossyProxy> {
    return new LossyProxy(database, await TcpProxy.open(`${database.host}/.s.PGSQL.5432`));
  }

  private constructor(database: ConnectionOptions, proxy: TcpProxy) {
    this.#database = database;
    this.#proxy = proxy;
    const losing = new WeakSet<ProxiedConnection>();
    proxy.toListener.filter = (bytes, connection) => {
      if (this.loseAnswerTo !== undefined && bytes.includes(this.loseAnswerTo)) losing.add(connection);
      return true;
    };
    proxy.toDialer.filter = (_bytes, connection) => {
      if (!losing.has(connection)) return true;
      // PostgreSQL answers after it has committed, so the change is made; only its answer is lost.
      this.loseAnswerTo = undefined;
      this.lost++;
      connection.dialer.destroy();
      return false;
    };
  }

  get options(): ConnectionOptions {
    return { ...this.#database, host: '127.0.0.1', port: this.#proxy.port };
  }

  /** While set, all bytes are lost in both directions, and connections stay open. */
  set silent(isSilent: boolean) {
    if (isSilent) this.#proxy.cut();
    else this.#proxy.heal({ keepConnections: true });
  }

  stop(): Promise<void> {
    return this.#proxy.close();
  }
}
