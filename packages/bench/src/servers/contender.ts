import type { Cleanup } from '../cleanup.js';
import type { Dataset, ServerKind } from '../workloads.js';
import { ask, infoField } from './ask.js';
import { startQuotaDB } from './quotadb.js';
import { startRedis } from './redis.js';
import type { ServerProcess } from './server-process.js';

/** One side of the comparison. */
export interface Contender {
  /** Unique: `redis`, `valkey`, `quotadb`, `quotadb 2 lanes`. */
  readonly name: string;
  readonly kind: ServerKind;
  readonly program: string;
  readonly serveArguments: readonly string[];
}

export interface RunningServer extends ServerProcess {
  readonly contender: Contender;
  readonly version: string;
  /** What it was last filled with. */
  dataset: Dataset | undefined;
}

export async function startContender(
  contender: Contender,
  keyCount: number,
  withLimits: boolean,
  cleanup: Cleanup,
): Promise<RunningServer> {
  const server =
    contender.kind === 'quotadb'
      ? await startQuotaDB(contender.program, contender.serveArguments, keyCount, withLimits, cleanup)
      : await startRedis(contender.name, contender.program, withLimits, cleanup);
  const info = await ask(server.port, 'INFO', 'server');
  const version = infoField(info, `${contender.kind}_version`) ?? infoField(info, 'redis_version') ?? 'unknown';
  return { ...server, contender, version, dataset: undefined };
}
