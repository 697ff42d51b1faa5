import { readdirSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { processMemory } from '@quotadb/resp';
import type { FailedLogins } from '../access/failed-logins.js';
import { counter, gauge, type MetricSource, type Sample, summary } from './metric.js';

/** `process_` metrics have the names of Prometheus's own clients; all others begin with `quotadb_`. */
export const processMetricTable = {
  process_cpu_seconds_total: counter('Processor time used, user and system.'),
  process_resident_memory_bytes: gauge('Resident memory.'),
  process_open_fds: gauge('Open file descriptors; absent where the system does not report them.'),
  quotadb_heap_used_bytes: gauge('JavaScript heap of the main thread.'),
  quotadb_main_thread_busy_seconds_total: counter('Time that the main thread did not wait.'),
  quotadb_main_thread_delay_seconds: summary('How late timers of the main thread were, since the last scrape.'),
  quotadb_logins_failed_total: counter('Logins with a wrong password or token.'),
} satisfies MetricSource['metrics'];

/** Milliseconds between two readings of the clock; a finer resolution costs more. */
const DELAY_RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

export interface ProcessMetrics extends MetricSource<keyof typeof processMetricTable> {
  stop(): void;
}

export function processMetrics(failedLogins: FailedLogins): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  return {
    metrics: processMetricTable,
    stop: () => delay.disable(),
    collect() {
      const { user, system } = process.cpuUsage();
      const { residentBytes, heapUsedBytes } = processMemory();
      const descriptors = openDescriptors();
      return {
        process_cpu_seconds_total: (user + system) / 1e6,
        process_resident_memory_bytes: residentBytes,
        ...(descriptors !== undefined && { process_open_fds: descriptors }),
        quotadb_heap_used_bytes: heapUsedBytes,
        quotadb_main_thread_busy_seconds_total: performance.eventLoopUtilization().active / 1000,
        quotadb_main_thread_delay_seconds: delays(delay),
        quotadb_logins_failed_total: failedLogins.total,
      };
    },
  };
}

function delays(histogram: IntervalHistogram): Sample[] {
  const samples = [50, 99, 100].map((percentile) => ({
    labels: { quantile: percentile / 100 },
    // The histogram holds whole intervals; a timer is late by the part beyond the resolution.
    value: Math.max(histogram.percentile(percentile) / NANOSECONDS - DELAY_RESOLUTION_MS / 1000, 0),
  }));
  histogram.reset();
  return samples;
}

function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
