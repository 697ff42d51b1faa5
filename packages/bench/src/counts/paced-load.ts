import { LatencyHistogram } from '../load/latency-histogram.js';
import { HttpConnection } from './http-connection.js';
import { type ClosedLoad, type LoadResult, requestPath } from './requests.js';

const TURN_MS = 1;

/**
 * Requests at an even pace that answers do not change. A request that finds every connection busy waits, and its
 * latency still counts from when it was due: a service that stalls is not asked less for it. wrk cannot do this, and
 * autocannon sends a second's requests in one burst.
 */
export async function loadAtConstantRate(load: ClosedLoad, requestsPerSecond: number): Promise<LoadResult> {
  const total = requestsPerSecond * load.seconds;
  const intervalMs = 1_000 / requestsPerSecond;
  const latencies = new LatencyHistogram();
  const idle = await Promise.all(Array.from({ length: load.connections }, () => HttpConnection.open(load.port)));
  const connections = [...idle];
  const startedAtMs = performance.now();
  let sent = 0;
  let answered = 0;
  let failures = 0;
  await new Promise<void>((resolve, reject) => {
    const timer = setInterval(() => sendDue(), TURN_MS);
    const finish = (error?: unknown) => {
      clearInterval(timer);
      for (const connection of connections) connection.close();
      if (error === undefined) resolve();
      else reject(error);
    };
    const sendDue = () => {
      if (load.signal.aborted) return finish(load.signal.reason);
      const nowMs = performance.now();
      for (; sent < total && idle.length > 0; sent++) {
        const dueAtMs = startedAtMs + sent * intervalMs;
        if (dueAtMs > nowMs) return;
        const connection = idle.shift()!;
        const path = requestPath(load.items[sent % load.items.length]!);
        connection.post(path).then((status) => {
          latencies.record(performance.now() - dueAtMs, 1);
          if (status !== 200) failures++;
          idle.push(connection);
          if (++answered === total) finish();
          else sendDue();
        }, finish);
      }
    };
    sendDue();
  });
  return {
    requests: total,
    failures,
    seconds: (performance.now() - startedAtMs) / 1_000,
    latencyMsP50: latencies.percentileMilliseconds(50),
    latencyMsP99: latencies.percentileMilliseconds(99),
    latencyMsP999: latencies.percentileMilliseconds(99.9),
  };
}
