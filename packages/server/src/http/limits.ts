import type { Server } from 'node:http';

/** What an HTTP client may take its time with. One that drips a header a minute must not hold a place for hours. */
export interface HttpLimits {
  readonly headersTimeoutMs: number;
  /** For the whole request, its body included. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How often those that take too long are looked for. */
  readonly checkIntervalMs: number;
  readonly maximumConnections: number;
}

export const usualHttpLimits: Omit<HttpLimits, 'maximumConnections'> = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5000,
  checkIntervalMs: 1000,
};

/** What node:http takes when the server is made. */
export function serverOptions({ headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, checkIntervalMs }: HttpLimits) {
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  };
}

export function boundConnections(server: Server, { maximumConnections }: HttpLimits): void {
  server.maxConnections = maximumConnections;
}
