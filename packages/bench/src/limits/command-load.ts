import { type LoadJob, loadJob } from '../load/load-job.js';
import type { Request } from '../load/request.js';
import { runLoad } from '../load/run-load.js';
import { perSecond } from '../measure/rounds.js';
import type { LimitsRound } from '../results/limits-row.js';
import type { Server } from './contest.js';

export const CONNECTIONS = 50;
export const KEY_COUNT = 100_000;

/** A round of one request, over and over, from the load generator. */
export async function loadRound(
  server: Server,
  request: Request,
  job: Pick<LoadJob, 'pipeline'> & Partial<LoadJob>,
  signal: AbortSignal,
): Promise<LimitsRound> {
  const settings = { pattern: [request], keyCount: KEY_COUNT, connections: CONNECTIONS, ...job };
  const result = await runLoad(loadJob(server, settings), signal);
  const { operations, serverCpuMicroseconds, clientCpuMicroseconds = 0 } = result;
  return {
    operationsPerSecond: perSecond(result),
    clientCpuMicrosecondsPerOperation: clientCpuMicroseconds / operations,
    p99Ms: result.p99Ms,
    ...(serverCpuMicroseconds !== undefined && {
      serverCpuMicrosecondsPerOperation: serverCpuMicroseconds / operations,
    }),
  };
}
