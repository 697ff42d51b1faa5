/** Bytes that are no frame, or a frame that cannot be put into bytes. The message says what is wrong with it. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}
