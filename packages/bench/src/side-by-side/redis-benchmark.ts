import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadJob, LoadResult } from '../load/load-job.js';
import { KEY, KEY_PREFIX, keyText } from '../load/request.js';
import { cpuMicrosecondsBetween, sampleCpu } from '../machine/cpu-time.js';
import { findExecutable, isExecutable } from '../machine/executable.js';

/**
 * The second opinion: the same load from redis-benchmark, for workloads it can express (one command, over and over, on
 * one key or on evenly chosen ones). It takes a number of requests rather than a time, so a short run comes first, to
 * learn how many fill the time. Its text report is read rather than its CSV, which leaves p99.9 out.
 */
const CALIBRATION_REQUESTS = 20_000;
const MAX_REQUESTS = 2 ** 31 - 1;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** redis-benchmark comes with redis-server, so look beside it first. */
export function findRedisBenchmark(redis: string): string {
  const beside = join(dirname(redis), 'redis-benchmark');
  const found = isExecutable(beside) ? beside : findExecutable('redis-benchmark');
  if (found === undefined) throw new Error('redis-benchmark was not found; it comes with Redis (Debian: redis-tools)');
  return found;
}

/** The command as redis-benchmark wants it, or undefined where it cannot send such a workload. */
export function redisBenchmarkCommand(pattern: LoadJob['pattern'], keys: LoadJob['keys']): string[] | undefined {
  const [request, ...otherRequests] = pattern;
  const [command, ...otherCommands] = request ?? [];
  if (command === undefined || otherRequests.length > 0 || otherCommands.length > 0) return undefined;
  if (keys !== 'hot' && keys !== 'uniform') return undefined;
  const key = keys === 'hot' ? keyText(0) : `${KEY_PREFIX}__rand_int__`;
  return command.map((argument) => (argument === KEY ? key : argument));
}

export async function runRedisBenchmark(program: string, job: LoadJob, signal: AbortSignal): Promise<LoadResult> {
  const command = redisBenchmarkCommand(job.pattern, job.keys);
  if (command === undefined) throw new Error('redis-benchmark cannot send this workload');
  const calibration = parseReport(await run(program, job, command, CALIBRATION_REQUESTS, signal));
  const requests =
    job.measureMs > 0
      ? Math.ceil((calibration.operations / calibration.elapsedMs) * job.measureMs)
      : job.measureOperations;

  const before = sampleCpu(job.serverPid);
  const report = await run(program, job, command, Math.min(Math.max(requests, 1), MAX_REQUESTS), signal);
  const serverCpuMicroseconds = cpuMicrosecondsBetween(before, sampleCpu(job.serverPid));
  return { ...parseReport(report), serverCpuMicroseconds, clientCpuMicroseconds: undefined };
}

async function run(
  program: string,
  job: LoadJob,
  command: readonly string[],
  requests: number,
  signal: AbortSignal,
): Promise<string> {
  const where = ['-h', '127.0.0.1', '-p', job.port, '-c', job.connections];
  const words = [...where, '-P', job.pipeline, '-n', requests, '-r', job.keyCount, ...command].map(String);
  const { stdout } = await promisify(execFile)(program, words, { signal, maxBuffer: MAX_OUTPUT_BYTES });
  return stdout;
}

export function parseReport(text: string): Omit<LoadResult, 'serverCpuMicroseconds' | 'clientCpuMicroseconds'> {
  const operations = Number(/(\d+) requests completed in/.exec(text)?.[1]);
  const perSecond = Number(/throughput summary: ([\d.]+) requests per second/.exec(text)?.[1]);
  if (!(operations > 0) || !(perSecond > 0)) throw new Error(`redis-benchmark reported no figures:\n${text}`);
  // The first table only: its steps halve the rest (99.219 %, 99.609 %, …), and small latencies have full precision.
  const table = text.slice(text.indexOf('Latency by percentile'), text.indexOf('Cumulative distribution'));
  const steps = [...table.matchAll(/([\d.]+)% <= ([\d.]+) milliseconds/g)].map((match) => ({
    percentile: Number(match[1]),
    latencyMs: Number(match[2]),
  }));
  const latencyAt = (percentile: number) => steps.find((step) => step.percentile >= percentile)?.latencyMs ?? 0;
  return {
    operations,
    elapsedMs: (operations / perSecond) * 1000,
    p50Ms: latencyAt(50),
    p99Ms: latencyAt(99),
    p999Ms: latencyAt(99.9),
  };
}
