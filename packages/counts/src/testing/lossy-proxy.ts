import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { ConnectionOptions } from '../adapters/postgres/connection.js';

/** Stands between the service and PostgreSQL and loses the traffic that a test names. */
export class LossyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #database: ConnectionOptions;
  /** Armed by a test: statements that contain this reach PostgreSQL, their answers never come back. */
  loseAnswerTo: string | undefined;
  /** How many answers have been lost. */
  lost = 0;
  /** While set, nothing passes in either direction, and neither end notices. */
  silent = false;

  static async start(database: ConnectionOptions): Promise<LossyProxy> {
    const proxy = new LossyProxy(database);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  private constructor(database: ConnectionOptions) {
    this.#database = database;
    this.#server = createServer((client) => this.#join(client));
  }

  get options(): ConnectionOptions {
    return { ...this.#database, host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port };
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    const database = connect(`${this.#database.host}/.s.PGSQL.5432`);
    let loseNext = false;
    for (const socket of [client, database]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        database.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (this.silent) return;
      loseNext ||= this.loseAnswerTo !== undefined && bytes.includes(this.loseAnswerTo);
      database.write(bytes);
    });
    database.on('data', (bytes) => {
      if (this.silent) return;
      if (!loseNext) {
        client.write(bytes);
        return;
      }
      // PostgreSQL answers after it has committed, so the change is made; only the word of it is lost.
      this.loseAnswerTo = undefined;
      this.lost++;
      client.destroy();
    });
  }
}
