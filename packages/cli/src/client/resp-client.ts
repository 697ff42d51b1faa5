import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { encodeCommand, ReplyReader } from '@quotadb/client/resp';
import { type Reply, replyBuilder, textOf } from './reply.js';

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: TlsTarget | undefined;
  /** What to do where no server listens, in place of the usual advice. */
  readonly advice?: string;
}

interface TlsTarget {
  /** Paths; without an authority those of the system are trusted. */
  readonly authority?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** The server could not be reached, or closed the connection. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The server replied with an error. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

const CONNECT_TIMEOUT_MS = 5000;
const NOBODY_LISTENS = 'no server listens there';
/** How to reach another server, for the commands of which it is the one. */
const USUAL_ADVICE = '"quotadb serve" starts one, --host and -p name another';

/** A connection for tools: one command after another, replies in RESP3 where the server has it. */
export class RespClient {
  readonly where: string;
  private readonly socket: Socket;
  private readonly reader = new ReplyReader(replyBuilder, (reply) => {
    if (reply.kind !== 'push') this.waiting.shift()?.resolve(reply);
  });
  private readonly waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void }[] = [];
  private over: Error | undefined = undefined;

  private constructor(socket: Socket, where: string) {
    this.socket = socket;
    this.where = where;
    socket.on('data', (bytes: Buffer) => this.receive(bytes));
    socket.on('error', (error) => this.end(new Unreachable(`${where}: ${error.message}`)));
    socket.on('close', () => this.end(new Unreachable(`${where} closed the connection`)));
  }

  /** Connects, logs in where a password is given, and switches to RESP3. */
  static async open(target: Target): Promise<RespClient> {
    const { host, port, user, password } = target;
    const where = `${host}:${port}`;
    const socket = await reach(target, where);
    const client = new RespClient(socket, where);
    try {
      const login = password === undefined ? [] : ['AUTH', user ?? 'default', password];
      const greeting = await client.call('HELLO', '3', ...login);
      // A server without HELLO is used in RESP2; one that asks for a password refuses the first command, too.
      if (greeting.kind === 'error' && login.length > 0) throw new Refused(greeting.text);
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  call(...words: readonly (string | Uint8Array)[]): Promise<Reply> {
    if (this.over !== undefined) return Promise.reject(this.over);
    // Commands of one turn of the event loop are sent in one write.
    if (this.socket.writableCorked === 0) {
      this.socket.cork();
      process.nextTick(() => this.socket.uncork());
    }
    const encoded = encodeCommand(words);
    for (const piece of typeof encoded === 'string' ? [encoded] : encoded) this.socket.write(piece);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** The reply as text; an error reply throws. */
  async text(...words: readonly string[]): Promise<string> {
    return checkedText(await this.call(...words));
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(bytes: Buffer): void {
    try {
      this.reader.receive(bytes);
    } catch (error) {
      this.end(error as Error);
      this.socket.destroy();
    }
  }

  private end(error: Error): void {
    this.over ??= error;
    for (const { reject } of this.waiting.splice(0)) reject(this.over);
  }
}

/** Runs `use` with a connection, and closes it afterwards. */
export async function withClient<Result>(
  target: Target,
  use: (client: RespClient) => Promise<Result>,
): Promise<Result> {
  const client = await RespClient.open(target);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** The reply; an error reply throws. */
export function checked(reply: Reply): Reply {
  if (reply.kind === 'error') throw new Refused(reply.text);
  return reply;
}

export function checkedText(reply: Reply): string {
  return textOf(checked(reply));
}

function reach({ host, port, tls, advice = USUAL_ADVICE }: Target, where: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = tls === undefined ? connect({ host, port, noDelay: true }) : secureSocket(host, port, tls);
    const fail = (reason: string): void => {
      socket.destroy();
      reject(new Unreachable(`cannot reach ${where}: ${reason}`));
    };
    const onError = (error: NodeJS.ErrnoException): void =>
      fail(error.code === 'ECONNREFUSED' ? `${NOBODY_LISTENS}; ${advice}` : error.message);
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => fail(`no answer in ${CONNECT_TIMEOUT_MS} ms`));
    socket.once('error', onError);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.setTimeout(0);
      socket.removeListener('error', onError);
      resolve(socket);
    });
  });
}

function secureSocket(host: string, port: number, { authority, certificate, key }: TlsTarget): Socket {
  return connectSecurely({
    host,
    port,
    ...(authority !== undefined && { ca: readFileSync(authority) }),
    ...(certificate !== undefined && { cert: readFileSync(certificate) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  });
}
