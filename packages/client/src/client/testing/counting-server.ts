import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TlsOptions } from 'node:tls';
import { ReplyReader } from '../../resp/reply-reader.js';
import { valueBuilder } from '../../resp/values.js';

/** A server of a few commands that can be silent, cut connections, and be stopped and started on its port. */
export class CountingServer {
  readonly counts = new Map<string, number>();
  /** All commands that arrived, in order. */
  readonly commands: string[][] = [];
  connections = 0;
  password: string | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #held: (() => void)[] | undefined;

  static async start(tls?: TlsOptions): Promise<CountingServer> {
    const server = new CountingServer(tls);
    await server.listen();
    return server;
  }

  private constructor(tls: TlsOptions | undefined) {
    const accept = (socket: Socket) => this.#accept(socket);
    this.#server = tls === undefined ? createServer(accept) : createSecureServer(tls, accept);
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Runs commands from now on, and sends their replies when they are released. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    for (const send of this.#held ?? []) send();
    this.#held = undefined;
  }

  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cutConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(socket: Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    let isAuthenticated = this.password === undefined;
    // A command is an array of strings, as a reply may be.
    const reader = new ReplyReader(valueBuilder, (command) => {
      const [name = '', ...parameters] = command as string[];
      this.commands.push(command as string[]);
      if (name === 'AUTH') isAuthenticated = parameters.at(-1) === this.password;
      const refusal = name === 'AUTH' ? '-WRONGPASS invalid' : '-NOAUTH Authentication required.';
      const reply = isAuthenticated ? this.#run(name, parameters) : refusal;
      const send = () => socket.destroyed || socket.write(`${reply}\r\n`);
      if (this.#held === undefined) send();
      else this.#held.push(send);
    });
    socket.on('data', (bytes: Buffer) => reader.receive(bytes));
  }

  #run(name: string, [key = '', amount = '0']: string[]): string {
    if (name === 'AUTH') return '+OK';
    if (name === 'PING') return '+PONG';
    if (name !== 'INCRBY') return `-ERR unknown command '${name}'`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + Number(amount));
    return `:${this.counts.get(key)}`;
  }
}
