import { type CpuSample, cpuMicrosecondsBetween, sampleCpu } from '../machine/cpu-time.js';
import { LatencyHistogram } from './latency-histogram.js';
import type { LoadJob, LoadResult } from './load-job.js';

/**
 * Warm-up, then the phase that counts. The server's CPU time is read by the load process itself at the first and at the
 * last burst of the phase, so that operations, time and CPU are those of the same moments.
 */
export class MeasuredPhase {
  readonly #job: LoadJob;
  readonly #latencies = new LatencyHistogram();
  readonly #measureFromMs: number;
  readonly #onBegin: (nowMs: number) => void;
  #serverCpuBefore: CpuSample | undefined;
  #clientCpuBefore = process.cpuUsage();
  #begunAtMs = 0;
  #operations = 0;
  result: LoadResult | undefined;

  constructor(job: LoadJob, nowMs: number, onBegin: (nowMs: number) => void) {
    this.#job = job;
    this.#onBegin = onBegin;
    this.#measureFromMs = nowMs + job.warmupMs;
    if (job.warmupMs === 0) this.#begin(nowMs);
  }

  /** Counts an answered burst; false once the phase is over and nothing more is to be sent. */
  answered(nowMs: number, startedAtMs: number, operations: number): boolean {
    if (this.result !== undefined) return false;
    if (this.#begunAtMs === 0) {
      if (nowMs >= this.#measureFromMs) this.#begin(nowMs);
      return true;
    }
    // A burst that began in the warm-up may have waited for code that was still being compiled.
    if (startedAtMs >= this.#begunAtMs) this.#latencies.record(nowMs - startedAtMs, operations);
    this.#operations += operations;
    if (!this.#isComplete(nowMs)) return true;
    this.#end(nowMs);
    return false;
  }

  #isComplete(nowMs: number): boolean {
    const { measureMs, measureOperations } = this.#job;
    if (measureMs > 0 && nowMs - this.#begunAtMs >= measureMs) return true;
    return measureOperations > 0 && this.#operations >= measureOperations;
  }

  #begin(nowMs: number): void {
    this.#begunAtMs = nowMs;
    this.#clientCpuBefore = process.cpuUsage();
    this.#serverCpuBefore = sampleCpu(this.#job.serverPid);
    this.#onBegin(nowMs);
  }

  #end(nowMs: number): void {
    const serverCpuMicroseconds = cpuMicrosecondsBetween(this.#serverCpuBefore, sampleCpu(this.#job.serverPid));
    const clientCpu = process.cpuUsage(this.#clientCpuBefore);
    this.result = {
      operations: this.#operations,
      elapsedMs: nowMs - this.#begunAtMs,
      p50Ms: this.#latencies.percentileMilliseconds(50),
      p99Ms: this.#latencies.percentileMilliseconds(99),
      p999Ms: this.#latencies.percentileMilliseconds(99.9),
      serverCpuMicroseconds,
      clientCpuMicroseconds: clientCpu.user + clientCpu.system,
    };
  }
}
