import { FRAME_BYTES, FrameType } from './frame.js';

const FIRST_BYTES = 4096;
/** A buffer that one large turn has grown is not kept. */
const KEPT_BYTES: number = 64 * 1024;
/** The start of a header block: the size of the table is 0 (RFC 7541, 6.3). */
const NO_TABLE: Buffer = Buffer.of(0x20);

/** The frames of one turn, to be sent together. */
export class FrameWriter {
  length = 0;
  private bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private table: 'unused' | 'to be shrunk' | 'shrunk' = 'unused';

  frame(type: number, flags: number, stream: number, payload: Uint8Array): void {
    const at = this.begin(type, flags, stream, payload.length);
    this.bytes.set(payload, at);
  }

  /** HEADERS: a block that refers to no table. */
  headers(flags: number, stream: number, block: Uint8Array): void {
    if (this.table !== 'to be shrunk') {
      this.frame(FrameType.headers, flags, stream, block);
      return;
    }
    this.table = 'shrunk';
    this.frame(FrameType.headers, flags, stream, Buffer.concat([NO_TABLE, block]));
  }

  /**
   * The client wants a smaller table than the usual one, and the next header block must say that it is: as small as it
   * can be, because it is never used, so that this has to be said once.
   */
  shrinkTable(): void {
    if (this.table === 'unused') this.table = 'to be shrunk';
  }

  /** RST_STREAM with an error code, or WINDOW_UPDATE with an increment. */
  number(type: typeof FrameType.reset | typeof FrameType.windowUpdate, stream: number, value: number): void {
    const at = this.begin(type, 0, stream, 4);
    this.bytes.writeUInt32BE(value, at);
  }

  /** Everything so far, as a copy: a socket may keep it. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.length));
    this.length = 0;
    if (this.bytes.length > KEPT_BYTES) this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
    return taken;
  }

  private begin(type: number, flags: number, stream: number, payloadBytes: number): number {
    const at = this.length;
    const end = at + FRAME_BYTES + payloadBytes;
    if (end > this.bytes.length) this.grow(end);
    const { bytes } = this;
    bytes[at] = payloadBytes >>> 16;
    bytes[at + 1] = payloadBytes >>> 8;
    bytes[at + 2] = payloadBytes;
    bytes[at + 3] = type;
    bytes[at + 4] = flags;
    bytes[at + 5] = stream >>> 24;
    bytes[at + 6] = stream >>> 16;
    bytes[at + 7] = stream >>> 8;
    bytes[at + 8] = stream;
    this.length = end;
    return at + FRAME_BYTES;
  }

  private grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
