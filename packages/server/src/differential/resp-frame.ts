/**
 * Replies as raw bytes: where one ends, and what it holds. RESP2 and RESP3 alike; made for comparing two servers byte by byte, so
 * nothing is converted on the way.
 */

const CR = 13;

/** A reply: its exact bytes, and for an aggregate the replies inside. */
export interface Frame {
  readonly type: string;
  /** Everything, from the type byte to the last CR LF. */
  readonly bytes: Buffer;
  /** Of a line: what follows the type. Of a bulk string: its content. Of an aggregate: its length. */
  readonly text: string;
  readonly children: readonly Frame[];
}

const LINES = '+-:_,#(';
const BULKS = '$=!';
const AGGREGATES = '*~>%';

/** The reply that starts at this byte; undefined while it has not fully arrived. */
export function readFrame(buffer: Buffer, start: number): Frame | undefined {
  const lineEnd = buffer.indexOf(CR, start);
  if (lineEnd < 0 || lineEnd + 1 >= buffer.length) return undefined;
  const type = String.fromCharCode(buffer[start]);
  const text = buffer.toString('latin1', start + 1, lineEnd);
  const afterLine = lineEnd + 2;
  if (LINES.includes(type)) return { type, bytes: buffer.subarray(start, afterLine), text, children: [] };
  const length = Number(text);
  if (!Number.isInteger(length)) throw new Error(`no reply starts with ${JSON.stringify(type + text)}`);
  if (length < 0) return { type, bytes: buffer.subarray(start, afterLine), text, children: [] };
  if (BULKS.includes(type)) return readBulk(buffer, start, type, afterLine, length);
  if (AGGREGATES.includes(type)) return readAggregate(buffer, start, type, afterLine, length);
  throw new Error(`no reply starts with ${JSON.stringify(type)}`);
}

function readBulk(buffer: Buffer, start: number, type: string, from: number, length: number): Frame | undefined {
  const end = from + length + 2;
  if (end > buffer.length) return undefined;
  const text = buffer.toString('latin1', from, from + length);
  return { type, bytes: buffer.subarray(start, end), text, children: [] };
}

function readAggregate(buffer: Buffer, start: number, type: string, from: number, length: number): Frame | undefined {
  const children: Frame[] = [];
  let position = from;
  for (let left = type === '%' ? length * 2 : length; left > 0; left--) {
    const child = readFrame(buffer, position);
    if (child === undefined) return undefined;
    children.push(child);
    position += child.bytes.length;
  }
  return { type, bytes: buffer.subarray(start, position), text: String(length), children };
}
