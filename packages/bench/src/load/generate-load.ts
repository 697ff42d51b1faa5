import { LoadConnection } from './connection.js';
import { keySequence } from './key-sequence.js';
import type { LoadJob, LoadResult } from './load-job.js';
import { MeasuredPhase } from './measured-phase.js';
import { Pace } from './pace.js';
import { type Burst, encodeBursts } from './request.js';

/** How much longer than planned a run may last; one that ends by operations has no planned length. */
const PATIENCE_MS = 60_000;
const MAX_RUN_MS = 30 * 60_000;

/**
 * Runs one job: opens the connections, keeps a burst in flight on each (or begins bursts at an even pace), and ends
 * when the measured phase is over and every burst that was sent has been answered.
 */
export async function generateLoad(job: LoadJob): Promise<LoadResult> {
  const bursts = encodeBursts(job.pattern, job.pipeline);
  const nextKey = keySequence(job.keys, job.keyCount, job.seed);
  let resolve!: (result: LoadResult) => void;
  let reject!: (error: Error) => void;
  const finished = new Promise<LoadResult>((onResult, onError) => {
    [resolve, reject] = [onResult, onError];
  });
  const connections: LoadConnection[] = [];
  let phase: MeasuredPhase;
  let pace: Pace | undefined;
  let inFlight = 0;

  const send = (connection: LoadConnection, startedAtMs: number) => {
    inFlight++;
    connection.send(startedAtMs);
  };
  const listener = {
    answered(connection: LoadConnection, burst: Burst, startedAtMs: number) {
      inFlight--;
      const nowMs = performance.now();
      if (phase.answered(nowMs, startedAtMs, burst.operations)) {
        if (pace === undefined) send(connection, nowMs);
        else pace.idle(connection);
      } else {
        pace?.stop();
        if (inFlight === 0) resolve(phase.result!);
      }
    },
    failed: reject,
  };

  const deadline = setTimeout(
    () => reject(new Error('the server stopped answering')),
    job.measureMs > 0 ? job.warmupMs + job.measureMs + PATIENCE_MS : MAX_RUN_MS,
  );
  try {
    for (let index = 0; index < job.connections; index++) {
      connections.push(await LoadConnection.open(job.port, bursts, nextKey, listener));
    }
    const nowMs = performance.now();
    phase = new MeasuredPhase(job, nowMs, (begunAtMs) => pace?.restart(begunAtMs));
    if (job.operationsPerSecond > 0) {
      const intervalMs = (job.pipeline * 1000) / job.operationsPerSecond;
      pace = new Pace(connections, { intervalMs, sleeps: job.sleeps }, nowMs, send);
    } else {
      for (const connection of connections) send(connection, performance.now());
    }
    return await finished;
  } finally {
    clearTimeout(deadline);
    pace?.stop();
    for (const connection of connections) connection.close();
  }
}
