import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type { Cleanup } from '../machine/cleanup.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

export interface QuotaDBProcess extends ServerProcess {
  readonly httpPort: number;
  readonly replicationPort: number;
  /** Undefined without --rls. */
  readonly rlsPort: number | undefined;
}

export interface QuotaDBStart {
  readonly program: string;
  /** For `quotadb serve`. Without `--repl` nothing is replicated. */
  readonly flags: readonly string[];
  readonly name?: string;
  readonly limits?: boolean;
}

/** Starts `quotadb serve` on ports that the server finds. */
export function startQuotaDB(start: QuotaDBStart, cleanup: Cleanup): Promise<QuotaDBProcess> {
  const { program, flags, name = 'quotadb', limits = false } = start;
  const replication = flags.includes('--repl') ? [] : ['--repl', '-1'];
  const words = [program, 'serve', '--resp', '0', '--http', '0', ...replication, ...flags];
  return startServerProcess({ name, program: process.execPath, arguments: words, ready: readyPorts, limits }, cleanup);
}

function readyPorts(line: string) {
  if (!line.startsWith('{"ready":true')) return undefined;
  const { resp, http, repl, rls } = JSON.parse(line) as { resp: number; http: number; repl: number; rls?: number };
  return { port: resp, httpPort: http, replicationPort: repl, rlsPort: rls };
}

export function requireQuotaDB(given = ''): string {
  const found = given || findQuotaDB();
  if (found !== undefined) return found;
  throw new Error('the quotadb program was not found; build it (npm run build), or give its place with --quotadb PATH');
}

/** The `quotadb` program: the one that runs this bench, or else that of the package `quotadb` installed near it. */
export function findQuotaDB(runningProgram = process.argv[1]): string | undefined {
  if (runningProgram !== undefined && existsSync(runningProgram)) {
    const program = realpathSync(runningProgram);
    if (basename(program) === 'quotadb.js') return program;
  }
  // Looked for as a file, not imported: the bench does not depend on the server.
  const directories = createRequire(import.meta.url).resolve.paths('quotadb') ?? [];
  const home = directories.map((directory) => join(directory, 'quotadb')).find((directory) => existsSync(directory));
  if (home === undefined) return undefined;
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { bin?: { quotadb?: string } };
  if (bin?.quotadb === undefined) return undefined;
  const program = join(realpathSync(home), bin.quotadb);
  return existsSync(program) ? program : undefined;
}
