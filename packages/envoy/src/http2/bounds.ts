/** Bounds of one HTTP/2 connection. */

/** As long as every peer must accept, and as long as is accepted from it. */
export const MAXIMUM_FRAME_BYTES = 16_384;
export const MAXIMUM_STREAMS = 1024;
/** What a side may send on a stream, and on a connection, before the other acknowledges bytes. */
export const FIRST_WINDOW_BYTES = 65_535;
/**
 * Requests are read as they come, and acknowledged once they have this many bytes: not for each frame, and early enough
 * that the client's window never runs out. So nothing is gained by checking that it keeps to it.
 */
export const ACKNOWLEDGED_BYTES = 32_768;
export const MAXIMUM_SEND_WINDOW_BYTES: number = 2 ** 31 - 1;

/** Of a request: names and values with 32 bytes for each field, as the protocol counts them. */
export const HEADER_LIST_BYTES: number = 16 * 1024;
export const MAXIMUM_HEADER_FIELDS = 64;
/** Frames that one header block may be cut into. */
export const MAXIMUM_CONTINUATIONS = 8;
/** The default: what a client's header fields may take of our memory for later requests to refer to. */
export const HEADER_TABLE_BYTES = 4096;

/**
 * Frames that ask for work and bring no call: resets, pings, settings, empty frames. A connection may send this
 * number of them ahead; every reply, and time, allows more. A client that resets calls as fast as it begins them runs
 * out of them.
 */
export const MAXIMUM_CONTROL_FRAMES = 10_000;
export const CONTROL_FRAMES_PER_REPLY = 10;
