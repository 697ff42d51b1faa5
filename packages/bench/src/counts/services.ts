import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../cleanup.js';
import { FREE_PORTS, findQuotaDB } from '../servers/quotadb.js';
import { type ServerProcess, startServerProcess } from '../servers/server-process.js';

/** One side of the comparison. */
export interface CountsSide {
  readonly name: 'quotadb' | 'one-statement';
  readonly service: ServerProcess;
}

/** As `npm run build` made it, also when this runs from the sources. */
const ONE_STATEMENT_SERVICE = fileURLToPath(new URL('../../dist/counts/one-statement-service.js', import.meta.url));

/** Both stay up all the time, and only one is under load at a time. */
export async function startSides(databaseUrl: string, cleanup: Cleanup): Promise<CountsSide[]> {
  return [
    { name: 'quotadb', service: await startQuotaDB(databaseUrl, cleanup) },
    { name: 'one-statement', service: await startOneStatement(databaseUrl, cleanup) },
  ];
}

function startQuotaDB(databaseUrl: string, cleanup: Cleanup): Promise<ServerProcess> {
  const program = findQuotaDB();
  if (program === undefined) throw new Error('the quotadb program was not found; npm run build makes it');
  const flags = [...FREE_PORTS, '--transport', 'net', '--max-memory', '16mb', '--postgres', databaseUrl];
  return startServerProcess(
    {
      name: 'counts-quotadb',
      program: process.execPath,
      arguments: () => [program, 'serve', ...flags],
      readyPort: (line) => (line.startsWith('{"ready":true') ? (JSON.parse(line) as { http: number }).http : undefined),
    },
    false,
    cleanup,
  );
}

function startOneStatement(databaseUrl: string, cleanup: Cleanup): Promise<ServerProcess> {
  return startServerProcess(
    {
      name: 'counts-one-statement',
      program: process.execPath,
      arguments: () => [ONE_STATEMENT_SERVICE, databaseUrl],
      readyPort: (line) => (line.startsWith('ready ') ? Number(line.slice('ready '.length)) : undefined),
    },
    false,
    cleanup,
  );
}
