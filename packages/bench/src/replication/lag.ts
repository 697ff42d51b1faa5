import { setTimeout as delay } from 'node:timers/promises';
import { QuotadbClient } from '@quotadb/client';

const PROBE_KEY = 'quotadb-bench-lag';
const POLL_MS = 1;
const PAUSE_MS = 5;

/** How long after an increment in one region is answered another region shows it; as many as there is time for. */
export async function measureLags(from: number, to: number, seconds: number): Promise<number[]> {
  const writer = QuotadbClient.open({ port: from });
  const reader = QuotadbClient.open({ port: to });
  try {
    const lags: number[] = [];
    const untilMs = performance.now() + seconds * 1000;
    while (performance.now() < untilMs) {
      const value = Number(await writer.increment(PROBE_KEY));
      const answeredAtMs = performance.now();
      while (Number(await reader.get(PROBE_KEY)) < value) await delay(POLL_MS);
      lags.push(performance.now() - answeredAtMs);
      await delay(PAUSE_MS);
    }
    return lags;
  } finally {
    await Promise.all([writer.close(), reader.close()]);
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
