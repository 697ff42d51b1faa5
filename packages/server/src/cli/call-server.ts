import { connect } from 'node:net';

/** A running server, as its clients reach it. */
export interface ServerTarget {
  readonly host: string;
  readonly port: number;
  readonly password: string | undefined;
}

/** What a server replied, in RESP2. */
export type Reply = string | number | null | readonly Reply[];

/** One command; rejects with the words of an error reply, or with why the server cannot be reached. */
export function callServer({ host, port, password }: ServerTarget, command: readonly string[]): Promise<Reply> {
  const commands = password === undefined ? [command] : [['AUTH', password], command];
  return new Promise((done, failed) => {
    const socket = connect({ host, port });
    let received: Buffer = Buffer.alloc(0);
    let missing = commands.length;
    socket.on('connect', () => socket.write(commands.map(encode).join('')));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      try {
        for (let read = readReply(received, 0); read !== undefined; read = readReply(received, 0)) {
          received = received.subarray(read.end);
          if (--missing > 0) continue;
          done(read.reply);
          socket.destroy();
          return;
        }
      } catch (error) {
        failed(error as Error);
        socket.destroy();
      }
    });
    socket.on('error', (error) => failed(new Error(`cannot reach ${host}:${port}: ${error.message}`)));
    socket.on('close', () => failed(new Error(`${host}:${port} closed the connection`)));
  });
}

/** The reply that begins here, and where it ends; undefined where it has not all come. Throws what an error reply says. */
function readReply(bytes: Buffer, start: number): { reply: Reply; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const kind = String.fromCharCode(bytes[start]);
  const line = bytes.toString('utf8', start + 1, lineEnd);
  const after = lineEnd + 2;
  if (kind === '-') throw new Error(line);
  if (kind === ':') return { reply: Number(line), end: after };
  if (kind === '+') return { reply: line, end: after };
  const length = Number(line);
  if (length < 0) return { reply: null, end: after };
  if (kind === '$') {
    const end = after + length + 2;
    return end > bytes.length ? undefined : { reply: bytes.toString('utf8', after, after + length), end };
  }
  const items: Reply[] = [];
  let end = after;
  for (let index = 0; index < length; index++) {
    const item = readReply(bytes, end);
    if (item === undefined) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  return { reply: items, end };
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
