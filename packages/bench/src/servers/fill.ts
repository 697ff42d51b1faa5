import { loadJob } from '../load/load-job.js';
import { INCREMENT, KEY, type Request, SAME_KEY } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import { ask } from './ask.js';
import type { Dataset, RunningServer } from './contenders.js';
import type { ServerProcess } from './server-process.js';

const FILL_PIPELINE = 64;
const FILL_CONNECTIONS = 4;

/** Long enough that no key expires during a run: this measures keeping TTLs, not dropping keys. */
export const TTL_SECONDS = '86400';

/** How a dataset is made: each key once. */
export const fills: Readonly<Record<Dataset, readonly Request[]>> = {
  plain: [INCREMENT],
  expiring: [
    [
      ['INCR', KEY],
      ['EXPIRE', SAME_KEY, TTL_SECONDS],
    ],
  ],
};

/** Puts every key of a dataset into the server once, unless they are there already. */
export async function fill(server: RunningServer, dataset: Dataset, keys: number, signal: AbortSignal): Promise<void> {
  if (server.dataset === dataset) return;
  if (server.dataset !== undefined) await ask(server.port, 'FLUSHALL');
  server.dataset = undefined;
  await fillKeys(server, fills[dataset], keys, signal);
  server.dataset = dataset;
}

/** Sends the pattern once for every key, and checks that the server holds them all. */
export async function fillKeys(
  server: ServerProcess,
  pattern: readonly Request[],
  keyCount: number,
  signal: AbortSignal,
): Promise<void> {
  const once = { pipeline: FILL_PIPELINE, connections: FILL_CONNECTIONS, measureOperations: keyCount };
  await runLoad(loadJob(server, { pattern, keys: 'sequential', keyCount, ...once }), signal);
  const held = Number(await ask(server.port, 'DBSIZE'));
  if (held !== keyCount) throw new Error(`${server.name} holds ${held} keys after ${keyCount} were sent to it`);
}
