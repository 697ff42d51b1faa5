import { HEADER_LIST_BYTES, MAXIMUM_CONTINUATIONS } from './bounds.js';
import { ConnectionError, ErrorCode } from './frame.js';

/** A header block that comes in several frames. */
export class HeaderBlock {
  readonly stream: number;
  readonly endsStream: boolean;
  private readonly parts: Buffer[];
  private bytes: number;
  readonly sinceMs: number = performance.now();

  constructor(stream: number, endsStream: boolean, first: Buffer) {
    this.stream = stream;
    this.endsStream = endsStream;
    this.parts = [Buffer.from(first)];
    this.bytes = first.length;
  }

  add(part: Buffer): void {
    this.parts.push(Buffer.from(part));
    this.bytes += part.length;
    if (this.parts.length > MAXIMUM_CONTINUATIONS || this.bytes > HEADER_LIST_BYTES)
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block is too long');
  }

  whole(): Buffer {
    return Buffer.concat(this.parts);
  }
}
