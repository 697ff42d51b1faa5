import { LatencyHistogram } from '../load/latency-histogram.js';
import type { LoadResult } from '../load/load-job.js';
import { cpuMicrosecondsBetween, sampleCpu } from '../machine/cpu-time.js';
import { GrpcConnection } from './grpc-connection.js';
import { callBytes } from './grpc-frames.js';

/** The work of one load process; travels between processes as JSON. */
export interface GrpcJob {
  readonly port: number;
  readonly serverPid: number;
  readonly domain: string;
  /** The key of the descriptor's entry; its values are those of `valueCount` users. */
  readonly key: string;
  readonly valueCount: number;
  readonly streams: number;
  readonly connections: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  /** Calls to begin per second, evenly spaced; 0 sends the next call of a stream as soon as the last is answered. */
  readonly operationsPerSecond: number;
}

/**
 * Between calls that are not due yet the load sleeps, at most so long, and latencies are too long by as much. A load
 * that never sleeps is what the scheduler holds back, all the more with a real-time priority (50 ms in each second),
 * and its pauses would be taken for the server's.
 */
const NAP_MS = 0.1;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** ShouldRateLimit over some connections, with a number of streams in flight in all. */
export async function generateGrpcLoad(job: GrpcJob): Promise<LoadResult> {
  const connections = await Promise.all(Array.from({ length: job.connections }, () => GrpcConnection.open(job.port)));
  const calls = Array.from({ length: job.valueCount }, (_, index) => callBytes(job.domain, job.key, `user:${index}`));
  const load = new GrpcLoad(job, connections, calls);
  try {
    return await load.run();
  } finally {
    for (const connection of connections) connection.close();
  }
}

class GrpcLoad {
  readonly #job: GrpcJob;
  readonly #connections: readonly GrpcConnection[];
  readonly #calls: readonly Buffer[];
  #latencies = new LatencyHistogram();
  #sent = 0;
  #answered = 0;
  #idle: number;
  #dueAtMs = 0;
  #isOver = false;

  constructor(job: GrpcJob, connections: readonly GrpcConnection[], calls: readonly Buffer[]) {
    this.#job = job;
    this.#connections = connections;
    this.#calls = calls;
    this.#idle = job.streams;
  }

  async run(): Promise<LoadResult> {
    const { warmupMs, measureMs, serverPid } = this.#job;
    this.#dueAtMs = performance.now();
    this.#turn();
    await sleep(warmupMs);
    this.#latencies = new LatencyHistogram();
    this.#dueAtMs = performance.now();
    const answeredBefore = this.#answered;
    const [serverBefore, clientBefore, startedAtMs] = [sampleCpu(serverPid), sampleCpu(process.pid), performance.now()];
    await sleep(measureMs);
    const [serverAfter, clientAfter, endedAtMs] = [sampleCpu(serverPid), sampleCpu(process.pid), performance.now()];
    this.#isOver = true;
    const failure = this.#connections.find((connection) => connection.failure !== undefined)?.failure;
    if (failure !== undefined) throw failure;
    const latencies = this.#latencies;
    return {
      operations: this.#answered - answeredBefore,
      elapsedMs: endedAtMs - startedAtMs,
      p50Ms: latencies.percentileMilliseconds(50),
      p99Ms: latencies.percentileMilliseconds(99),
      p999Ms: latencies.percentileMilliseconds(99.9),
      serverCpuMicroseconds: cpuMicrosecondsBetween(serverBefore, serverAfter),
      clientCpuMicroseconds: cpuMicrosecondsBetween(clientBefore, clientAfter),
    };
  }

  readonly #turn = (): void => {
    if (this.#isOver) return;
    this.#sendDue();
    if (this.#job.operationsPerSecond === 0) return;
    const restMs = this.#dueAtMs - performance.now();
    if (restMs > 0) Atomics.wait(sleeper, 0, 0, Math.min(NAP_MS, restMs));
    setImmediate(this.#turn);
  };

  /** At a given rate a call that finds every stream busy waits, and its latency counts from when it was due. */
  #sendDue(): void {
    const { operationsPerSecond } = this.#job;
    const nowMs = performance.now();
    while (this.#idle > 0 && !this.#isOver) {
      if (operationsPerSecond > 0) {
        if (this.#dueAtMs > nowMs) return;
        this.#send(this.#dueAtMs);
        this.#dueAtMs += 1000 / operationsPerSecond;
      } else this.#send(nowMs);
    }
  }

  #send(dueAtMs: number): void {
    this.#idle--;
    const number = this.#sent++;
    const connection = this.#connections[number % this.#connections.length]!;
    connection.call(this.#calls[number % this.#calls.length]!, () => {
      this.#latencies.record(performance.now() - dueAtMs, 1);
      this.#answered++;
      this.#idle++;
      if (connection.failure === undefined) this.#sendDue();
    });
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
