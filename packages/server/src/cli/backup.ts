import { connect } from 'node:net';
import { resolve } from 'node:path';
import { EXIT_FAILURE, EXIT_OK } from './serve.js';

export interface BackupTarget {
  readonly host: string;
  readonly port: number;
  readonly password: string | undefined;
}

/** Asks a running server, on this machine, to write everything into a directory. */
export async function runBackup(target: BackupTarget, directory: string): Promise<number> {
  try {
    const path = resolve(directory);
    await ask(target, ['BACKUP', path]);
    process.stdout.write(`${path} holds a backup; "quotadb serve --data ${path}" starts from it\n`);
    return EXIT_OK;
  } catch (error) {
    process.stderr.write(`quotadb: ${(error as Error).message}\n`);
    return EXIT_FAILURE;
  }
}

/** One command, whose reply is OK or an error. */
function ask({ host, port, password }: BackupTarget, command: readonly string[]): Promise<void> {
  const commands = password === undefined ? [command] : [['AUTH', password], command];
  return new Promise((done, failed) => {
    const socket = connect({ host, port });
    let replies = '';
    socket.on('connect', () => socket.write(commands.map(encode).join('')));
    socket.on('data', (chunk) => {
      replies += chunk.toString('utf8');
      const lines = replies.split('\r\n');
      const error = lines.find((line) => line.startsWith('-'));
      if (error !== undefined) failed(new Error(error.slice(1)));
      else if (lines.length > commands.length) done();
      else return;
      socket.destroy();
    });
    socket.on('error', (error) => failed(new Error(`cannot reach ${host}:${port}: ${error.message}`)));
    socket.on('close', () => failed(new Error(`${host}:${port} closed the connection`)));
  });
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
