/** Bounds of the gRPC transport. Times are in milliseconds. */

/**
 * Bytes that one side may send before the other has confirmed them: with a round trip of 100 ms, 16 MiB allow 160 MB/s,
 * and HTTP/2's own 64 KiB 640 KB/s. One peer can make this process hold that much memory, so not more.
 */
export const WINDOW_BYTES = 16 * 1024 * 1024;

/** With more bytes than this waiting to be sent a stream is not writable; below half of it, it is again. */
export const QUEUE_BYTES = 4 * 1024 * 1024;
/** Past this a stream is aborted: the peer does not read. */
export const MAXIMUM_QUEUE_BYTES = 64 * 1024 * 1024;

/** Mebibytes that Node lets one connection hold in all: the window, the queue and their overhead. */
export const SESSION_MEMORY_MIB = 128;

/** Open streams of one listener: a mesh of hundreds of regions has fewer. */
export const MAXIMUM_STREAMS = 256;
/** Connections that have not opened a stream yet. */
export const MAXIMUM_PENDING_CONNECTIONS = 64;
/** One is needed. */
export const MAXIMUM_STREAMS_PER_CONNECTION = 4;
/** From the connection to the stream: TLS included. */
export const OPENING_MS = 10_000;

/** Links have pings of their own; these find a dead connection also while links are busy. */
export const KEEPALIVE_INTERVAL_MS = 5000;
export const KEEPALIVE_TIMEOUT_MS = 10_000;

/** After this side has ended a stream, how long the peer may take to end it too. */
export const LINGER_MS = 2000;
