/**
 * The frames of HTTP/2 (RFC 9113).
 *
 *   bytes | what
 *   ------|----------------------------------------------------
 *   3     | length of the payload, big-endian
 *   1     | type
 *   1     | flags
 *   4     | stream, big-endian; the first bit means nothing
 *   …     | the payload
 */
export const FRAME_BYTES = 9;
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const SETTING_BYTES = 6;
export const PING_BYTES = 8;
export const PRIORITY_BYTES = 5;

export const ErrorCode = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The peer has broken a rule of HTTP/2, or a bound: the connection ends with this code. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A padded payload begins with the length of what it ends with. */
export function unpadded(payload: Buffer): Buffer {
  const length = payload.length - 1 - (payload[0] ?? 0);
  if (length < 0) throw broken('padding is longer than its frame');
  return payload.subarray(1, 1 + length);
}

export function broken(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.protocol, what);
}

export function wrongSize(): ConnectionError {
  return new ConnectionError(ErrorCode.frameSize, 'a frame has a wrong length');
}

export function overflow(): ConnectionError {
  return new ConnectionError(ErrorCode.flowControl, 'a window of more than 2^31 - 1 bytes');
}
