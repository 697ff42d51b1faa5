import { resolve } from 'node:path';
import { callServer, type ServerTarget } from './call-server.js';
import { EXIT_FAILURE, EXIT_OK } from './serve.js';

/** Asks a running server, on this machine, to write everything into a directory. */
export async function runBackup(target: ServerTarget, directory: string): Promise<number> {
  try {
    const path = resolve(directory);
    await callServer(target, ['BACKUP', path]);
    process.stdout.write(`${path} holds a backup; "quotadb serve --data ${path}" starts from it\n`);
    return EXIT_OK;
  } catch (error) {
    process.stderr.write(`quotadb: ${(error as Error).message}\n`);
    return EXIT_FAILURE;
  }
}
