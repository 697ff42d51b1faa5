/** Bounds of the gRPC door. Times are in milliseconds. */

/** Envoy opens a connection for each of its workers. */
export const MAXIMUM_CONNECTIONS = 4096;
/** Beyond them: connections in the handshake of TLS, and those that are being ended to make room. */
export const MAXIMUM_NEWCOMERS = 1024;
/** Calls under way in all connections. */
export const MAXIMUM_CALLS = 20_000;
/** Of one method, calls that last: usage reports, watches of health, which need no credentials. */
export const MAXIMUM_LASTING_CALLS = 2000;
/** Where there are too many calls, one that waits for its client is looked for among this number of the oldest. */
export const CALLS_LOOKED_AT = 10_000;

/** Messages of a lasting call whose caller is not known yet. */
export const MAXIMUM_EARLY_MESSAGES = 16;
/** Memory for a message that has begun: as it comes, there is more. */
export const FIRST_MESSAGE_BYTES = 1024;
/** Unsent bytes of a lasting call whose client does not read; past it the call is ended. */
export const MAXIMUM_UNSENT_BYTES: number = 256 * 1024;
/**
 * Of all calls together: messages that have begun and not ended, and replies that their clients make no room for. Past
 * it, calls that would hold more are refused.
 */
export const MAXIMUM_HELD_BYTES: number = 64 * 1024 * 1024;

/** From the headers of a call to the end of its message, and from its reply until the client has taken it. */
export const MESSAGE_TIMEOUT_MS = 10_000;
export const SWEEP_INTERVAL_MS = 2000;
export const TCP_KEEPALIVE_MS = 30_000;
/** How long open calls may take to end when the server stops. */
export const STOP_MS = 1000;
