import { type ClosedLoad, type LoadResult, REQUEST_BODY, requestPath } from './requests.js';

/** The part of autocannon used here; it brings no types. */
interface AutocannonResult {
  readonly duration: number;
  readonly requests: { readonly total: number };
  readonly non2xx: number;
  readonly errors: number;
  readonly latency: { readonly p50: number; readonly p99: number; readonly p99_9: number };
}
type Autocannon = (options: object) => Promise<AutocannonResult> & { stop(): void };

/** autocannon needs no installation but spends far more on a request than wrk; its figures are the client's as much. */
export async function loadWithAutocannon(load: ClosedLoad): Promise<LoadResult> {
  const name: string = 'autocannon';
  const { default: autocannon } = (await import(name).catch((error: unknown) => {
    throw new Error('neither wrk nor autocannon is installed', { cause: error });
  })) as { default: Autocannon };
  let position = 0;
  const running = autocannon({
    url: `http://127.0.0.1:${load.port}`,
    connections: load.connections,
    duration: load.seconds,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: REQUEST_BODY,
    requests: [
      {
        setupRequest: (request: object) => {
          position = (position + 1) % load.items.length;
          return { ...request, path: requestPath(load.items[position]!) };
        },
      },
    ],
  });
  const stop = () => running.stop();
  load.signal.addEventListener('abort', stop);
  const { duration, requests, non2xx, errors, latency } = await running;
  load.signal.removeEventListener('abort', stop);
  load.signal.throwIfAborted();
  return {
    requests: requests.total,
    failures: non2xx + errors,
    seconds: duration,
    latencyMsP50: latency.p50,
    latencyMsP99: latency.p99,
    latencyMsP999: latency.p99_9,
  };
}
