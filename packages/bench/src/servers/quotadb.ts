import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { Cleanup } from '../cleanup.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/** Of the 2 GiB a limited server has, what QuotaDB may keep keys in: the rest is for its code and its clients. */
const MEMORY_FOR_MANY_KEYS = '1536mb';
/** Beyond this the server's own default may be too small. */
const KEYS_FOR_DEFAULT_MEMORY = 2_000_000;

/** Found by the server itself; nothing is replicated. */
export const FREE_PORTS: readonly string[] = ['--resp', '0', '--http', '0', '--repl', '-1'];

export async function startQuotaDB(
  program: string,
  serveArguments: readonly string[],
  keyCount: number,
  withLimits: boolean,
  cleanup: Cleanup,
): Promise<ServerProcess> {
  const memory = keyCount > KEYS_FOR_DEFAULT_MEMORY ? ['--max-memory', MEMORY_FOR_MANY_KEYS] : [];
  return startServerProcess(
    {
      name: 'quotadb',
      program: process.execPath,
      arguments: () => [program, 'serve', ...FREE_PORTS, '--memory', ...memory, ...serveArguments],
      readyPort,
    },
    withLimits,
    cleanup,
  );
}

export function readyPort(line: string): number | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (typeof message !== 'object' || message === null) return undefined;
    const { ready, resp } = message as { ready?: unknown; resp?: unknown };
    return ready === true && typeof resp === 'number' ? resp : undefined;
  } catch {
    return undefined;
  }
}

/** The `quotadb` program: the one that is running this bench, or else the one installed beside this package. */
export function findQuotaDB(runningProgram = process.argv[1]): string | undefined {
  if (runningProgram !== undefined && existsSync(runningProgram)) {
    const program = realpathSync(runningProgram);
    if (basename(program) === 'quotadb.js') return program;
  }
  try {
    const entry = createRequire(import.meta.url).resolve('quotadb');
    const program = join(dirname(entry), '..', 'bin', 'quotadb.js');
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined; // not built, or this package stands alone
  }
}
