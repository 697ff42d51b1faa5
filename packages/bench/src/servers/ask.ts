import { connect } from 'node:net';
import { encodeCommand, type Reply, ReplyReader, valueBuilder } from '@quotadb/client/resp';

const ANSWER_WITHIN_MS = 120_000;

/** Sends one command on a connection of its own and returns the reply as text. For INFO and the like, not for load. */
export function ask(port: number, ...words: string[]): Promise<string> {
  const command = words.join(' ');
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    const take = (reply: Reply) => {
      if (reply instanceof Error) reject(new Error(`${command}: ${reply.message}`));
      else resolve(String(reply));
      socket.destroy();
    };
    const reader = new ReplyReader(valueBuilder, take);
    socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error(`no answer to ${command}`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`the connection ended before ${command} was answered`)));
    socket.on('data', (chunk) => reader.receive(chunk));
    socket.write(encodeCommand(words) as string);
  });
}

/** A field of INFO's reply, such as `used_memory`. */
export function infoField(info: string, field: string): string | undefined {
  const line = info.split('\r\n').find((candidate) => candidate.startsWith(`${field}:`));
  return line?.slice(field.length + 1);
}
