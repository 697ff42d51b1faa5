import { HEADER_LIST_BYTES, HEADER_TABLE_BYTES, MAXIMUM_HEADER_FIELDS } from './bounds.js';
import { ConnectionError, ErrorCode } from './frame.js';
import { type Field, fieldBytes, HeaderTable } from './header-table.js';
import { decodeHuffman } from './huffman.js';
import { RequestHeaders } from './request-headers.js';

/** A block may shrink the table and let it grow again. */
const MAXIMUM_RESIZES = 2;

/** The largest number in a header block: no length and no index within the bounds is larger. */
const MAXIMUM_INTEGER: number = 2 ** 20;

/**
 * Reads header blocks (HPACK, RFC 7541). First bits of a field:
 *
 *   1        an indexed field
 *   01       a literal that is added to the table
 *   001      a new size of the table, only before the first field
 *   000x     a literal that is not added
 */
export class HeaderDecoder {
  private readonly table = new HeaderTable();
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;
  private end = 0;
  /** The latest block that left the table as it was, and what it says: most clients send the same one every time. */
  private latest: Buffer = Buffer.alloc(0);
  private latestHeaders: RequestHeaders | undefined = undefined;

  /** Throws ConnectionError: after a block that cannot be read no other one can be. */
  decode(bytes: Buffer, from: number, end: number): RequestHeaders {
    const { latest, latestHeaders } = this;
    if (
      latestHeaders !== undefined &&
      latest.length === end - from &&
      bytes.compare(latest, 0, latest.length, from, end) === 0
    )
      return latestHeaders;
    this.bytes = bytes;
    this.at = from;
    this.end = end;
    const headers = new RequestHeaders();
    const changesTable = this.read(headers);
    this.latestHeaders = changesTable ? undefined : headers;
    if (!changesTable) this.latest = Buffer.from(bytes.subarray(from, end));
    this.bytes = this.latest;
    return headers;
  }

  private read(headers: RequestHeaders): boolean {
    let changesTable = false;
    let fieldCount = 0;
    let listBytes = 0;
    let resizes = 0;
    while (this.at < this.end) {
      const first = this.bytes[this.at];
      if ((first & 0xe0) === 0x20) {
        if (fieldCount > 0) throw malformed('the size of the table changes after a field');
        if (++resizes > MAXIMUM_RESIZES) throw malformed('the size of the table changes too often');
        const size = this.integer(5);
        if (size > HEADER_TABLE_BYTES)
          throw malformed(`a table of ${size} bytes: at most ${HEADER_TABLE_BYTES} are offered`);
        this.table.resize(size);
        changesTable = true;
        continue;
      }
      const [name, value] = this.field(first);
      if ((first & 0xc0) === 0x40) {
        this.table.add([name, value]);
        changesTable = true;
      }
      listBytes += fieldBytes(name, value);
      if (++fieldCount > MAXIMUM_HEADER_FIELDS || listBytes > HEADER_LIST_BYTES)
        throw new ConnectionError(ErrorCode.enhanceYourCalm, 'the header fields of a request are too many or too long');
      headers.take(name, value);
    }
    return changesTable;
  }

  private field(first: number): Field {
    if (first >= 0x80) return this.known(this.integer(7));
    const index = this.integer(first >= 0x40 ? 6 : 4);
    const name = index === 0 ? this.text() : this.known(index)[0];
    return [name, this.text()];
  }

  private known(index: number): Field {
    const field = this.table.get(index);
    if (field === undefined) throw malformed(`there is no field ${index}`);
    return field;
  }

  private text(): string {
    const isCoded = this.at < this.end && this.bytes[this.at] >= 0x80;
    const length = this.integer(7);
    const from = this.at;
    if (length > this.end - from) throw malformed('a text goes past the end');
    this.at = from + length;
    if (!isCoded) return this.bytes.toString('latin1', from, this.at);
    const text = decodeHuffman(this.bytes, from, this.at);
    if (text === undefined) throw malformed('a text is not coded properly');
    return text;
  }

  /** A number that begins with the last bits of a byte and, where it does not fit, goes on in groups of seven. */
  private integer(prefixBits: number): number {
    const { bytes, end } = this;
    const mask = (1 << prefixBits) - 1;
    if (this.at >= end) throw malformed('it is cut short');
    let value = bytes[this.at++] & mask;
    if (value < mask) return value;
    for (let factor = 1; ; factor *= 128) {
      if (this.at >= end) throw malformed('it is cut short');
      const byte = bytes[this.at++];
      value += (byte & 0x7f) * factor;
      if (value > MAXIMUM_INTEGER || factor > MAXIMUM_INTEGER) throw malformed('a number is too large');
      if (byte < 0x80) return value;
    }
  }
}

function malformed(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.compression, `a header block cannot be read: ${what}`);
}
