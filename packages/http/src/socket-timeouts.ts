/** The time that an HTTP client may take. A client that sends a header a minute must not hold a place for hours. */
export interface SocketTimeouts {
  readonly headersTimeoutMs: number;
  /** For the whole request, its body included. */
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How often node:http looks for clients that take too long. */
  readonly checkIntervalMs: number;
}

export const usualSocketTimeouts: SocketTimeouts = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5000,
  checkIntervalMs: 1000,
};
