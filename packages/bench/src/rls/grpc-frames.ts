import { ProtoWriter } from '@quotadb/wire';

/**
 * The bytes of HTTP/2 that a load needs, written by hand: Node's own client costs more for a call than the server does.
 *
 *   frame, 9 bytes + payload:   length 3 | type 1 | flags 1 | stream 4
 */
export const FRAME_BYTES = 9;
export const FrameType = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
export const Flag = { endStream: 1, ack: 1, endHeaders: 4 } as const;

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** Large enough for all replies of a run. */
const WINDOW_INCREMENT = 2 ** 31 - 1 - 65_535;

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(FRAME_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, FRAME_BYTES);
  return bytes;
}

/** What a client sends first. */
export function opening(): Buffer {
  const increment = Buffer.alloc(4);
  increment.writeUInt32BE(WINDOW_INCREMENT);
  return Buffer.concat([
    PREFACE,
    frame(FrameType.settings, 0, 0, Buffer.alloc(0)),
    frame(FrameType.windowUpdate, 0, 0, increment),
  ]);
}

/** A header as a literal that neither side remembers: the same bytes for every call. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

const HEADERS = Buffer.concat([
  literal(':method', 'POST'),
  literal(':scheme', 'http'),
  literal(':path', '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'),
  literal(':authority', 'bench'),
  literal('content-type', 'application/grpc'),
  literal('te', 'trailers'),
]);

/** The frames of one ShouldRateLimit; the stream's number is written before each send. */
export function callBytes(domain: string, key: string, value: string): Buffer {
  const writer = new ProtoWriter();
  writer.textField(1, domain);
  const descriptor = writer.begin(2);
  const entry = writer.begin(1);
  writer.textField(1, key);
  writer.textField(2, value);
  writer.end(entry);
  writer.end(descriptor);
  const message = Buffer.from(writer.bytes.subarray(0, writer.length));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([
    frame(FrameType.headers, Flag.endHeaders, 0, HEADERS),
    frame(FrameType.data, Flag.endStream, 0, Buffer.concat([prefix, message])),
  ]);
}

const STREAM_OFFSET = 5;
const DATA_STREAM_OFFSET = FRAME_BYTES + HEADERS.length + STREAM_OFFSET;

export function setStream(call: Buffer, stream: number): void {
  call.writeUInt32BE(stream, STREAM_OFFSET);
  call.writeUInt32BE(stream, DATA_STREAM_OFFSET);
}
