import { MAXIMUM_STREAMS_PER_CONNECTION, SESSION_MEMORY_MIB, WINDOW_BYTES } from './bounds.js';

/** Larger than the 16 KiB of the standard: fewer, longer pieces of a batch. */
const FRAME_BYTES = 128 * 1024;
/** Ours are a few hundred. */
const HEADER_LIST_BYTES = 8 * 1024;

/** Of both sides: what they say of the window is how much they are ready to receive on a stream. */
export function sessionOptions(windowBytes: number = WINDOW_BYTES) {
  return {
    maxSessionMemory: SESSION_MEMORY_MIB,
    settings: {
      initialWindowSize: windowBytes,
      maxFrameSize: FRAME_BYTES,
      maxHeaderListSize: HEADER_LIST_BYTES,
      maxConcurrentStreams: MAXIMUM_STREAMS_PER_CONNECTION,
      enablePush: false,
    },
  };
}
