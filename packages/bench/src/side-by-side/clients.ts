import type { LoadJob, LoadResult } from '../load/load-job.js';
import { runLoad } from '../load/run-load.js';
import { OWN_CLIENT } from '../results/row.js';
import type { RunningServer } from '../servers/contenders.js';
import { findRedisBenchmark, redisBenchmarkCommand, runRedisBenchmark } from './redis-benchmark.js';
import type { Workload } from './workloads.js';

export const clientNames = ['own', 'redis-benchmark'] as const;

export interface LoadClient {
  readonly name: string;
  readonly load: (job: LoadJob, signal: AbortSignal) => Promise<LoadResult>;
}

/**
 * The clients that send a workload, each to all sides. What redis-benchmark cannot send to every side comes from our
 * own generator, whatever was asked for.
 */
export function chooseClients(
  { pattern, keys }: Workload,
  servers: readonly RunningServer[],
  wanted: readonly (typeof clientNames)[number][],
): LoadClient[] {
  const canSend = ({ contender }: RunningServer) => redisBenchmarkCommand(pattern(contender.kind), keys) !== undefined;
  const possible = new Set(wanted.map((name) => (servers.every(canSend) ? name : 'own')));
  return [...possible].map((name) => {
    if (name === 'own') return { name: OWN_CLIENT, load: runLoad };
    const program = findRedisBenchmark(servers[0]!.contender.program);
    return { name, load: (job, signal) => runRedisBenchmark(program, job, signal) };
  });
}
