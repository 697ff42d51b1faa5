/** Bounds of the carrier. Times are in milliseconds. */

/**
 * How much one side may send before the other has said that it took it: at 100 ms there and back 16 MiB are 160 MB/s,
 * where HTTP/2's own 64 KiB would be 640 KB/s. It is what one peer can make this process hold at most, so not more.
 */
export const WINDOW_BYTES = 16 * 1024 * 1024;

/** Over this much waiting to be sent, a stream says that it is not writable; under half of it, that it is again. */
export const QUEUE_BYTES = 4 * 1024 * 1024;
/** Whoever goes on sending regardless has lost the peer: it does not read. */
export const MAXIMUM_QUEUE_BYTES = 64 * 1024 * 1024;

/** Mebibytes that Node lets one connection hold altogether: the window, the queue and what belongs to them. */
export const SESSION_MEMORY_MIB = 128;

/** Open streams of one listener: a mesh of hundreds of regions has fewer. */
export const MAXIMUM_STREAMS = 256;
/** Connections that have not opened a stream yet, and of which nothing is known. */
export const MAXIMUM_PENDING_CONNECTIONS = 64;
/** One is needed. */
export const MAXIMUM_STREAMS_PER_CONNECTION = 4;
/** From the connection to the stream: TLS included. */
export const OPENING_MS = 10_000;

/** The core has pings of its own; these find a dead connection whatever the core is doing. */
export const KEEPALIVE_INTERVAL_MS = 5000;
export const KEEPALIVE_TIMEOUT_MS = 10_000;

/** After this side has ended a stream, how long the other may take to end it, too. */
export const LINGER_MS = 2000;
