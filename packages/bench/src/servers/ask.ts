import { connect } from 'node:net';
import { ReplyCounter } from '../load/reply-counter.js';

const ANSWER_WITHIN_MS = 120_000;

/**
 * Sends one command on a connection of its own and gives back the reply's text (for INFO, FLUSHALL, DBSIZE). Not for
 * load: the point is that the bench needs no client library on either side.
 */
export function ask(port: number, ...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    const counter = new ReplyCounter();
    const chunks: Buffer[] = [];
    socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error(`no answer to ${words.join(' ')}`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`the connection ended before ${words.join(' ')} was answered`)));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (counter.count(chunk, chunk.length) === 0) return;
      if (counter.errors > 0) reject(new Error(`${words.join(' ')}: ${counter.firstError}`));
      else resolve(textOf(Buffer.concat(chunks).toString()));
      socket.destroy();
    });
    const encoded = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${encoded.join('')}`);
  });
}

/** The content of a simple, integer or bulk reply. */
function textOf(reply: string): string {
  const firstLineEnd = reply.indexOf('\r\n');
  return reply.startsWith('$') ? reply.slice(firstLineEnd + 2, -2) : reply.slice(1, firstLineEnd);
}

/** A field of INFO's reply, such as `used_memory`. */
export function infoField(info: string, field: string): string | undefined {
  return info
    .split('\r\n')
    .find((line) => line.startsWith(`${field}:`))
    ?.slice(field.length + 1);
}
