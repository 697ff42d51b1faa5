import { runLoad } from '../load/run-load.js';
import { ask } from '../servers/ask.js';
import type { RunningServer } from '../servers/contender.js';
import { type Dataset, fills } from '../workloads.js';

const FILL_PIPELINE = 64;
const FILL_CONNECTIONS = 4;

/** Puts every key into the server once, unless they are there already, and makes sure that they are. */
export async function fill(
  server: RunningServer,
  dataset: Dataset,
  keyCount: number,
  signal: AbortSignal,
): Promise<void> {
  if (server.dataset === dataset) return;
  if (server.dataset !== undefined) await ask(server.port, 'FLUSHALL');
  server.dataset = undefined;
  await runLoad(
    {
      port: server.port,
      serverPid: server.pid,
      pattern: fills[dataset],
      keys: 'sequential',
      keyCount,
      seed: 0,
      pipeline: FILL_PIPELINE,
      connections: FILL_CONNECTIONS,
      warmupMs: 0,
      measureMs: 0,
      measureOperations: keyCount,
      operationsPerSecond: 0,
    },
    signal,
  );
  const held = Number(await ask(server.port, 'DBSIZE'));
  if (held !== keyCount) {
    throw new Error(`${server.contender.name} holds ${held} keys after being given ${keyCount}`);
  }
  server.dataset = dataset;
}
