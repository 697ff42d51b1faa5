import { resolve } from 'node:path';
import { RespClient, type Target } from '../client/resp-client.js';
import { EXIT_OK } from '../terminal/exit-codes.js';
import { withProgress } from '../terminal/progress.js';

/** Asks a running server, on this machine, to write everything into a directory. */
export async function runBackup(target: Target, directory: string): Promise<number> {
  const path = resolve(directory);
  const client = await RespClient.open(target);
  try {
    await withProgress(`writing a backup to ${path}`, client.text('BACKUP', path));
  } finally {
    client.close();
  }
  process.stdout.write(`${path} holds a backup; "quotadb serve --data ${path}" starts from it\n`);
  return EXIT_OK;
}
