import { ReplyError } from '../contract/errors.js';
import { ProtocolError, type ReplyBuilder, ReplyType } from './reply-reader.js';

/**
 * Replies as JavaScript values:
 *
 *   simple, bulk and verbatim string   string          array, set, push   array
 *   error                              ReplyError      map                Map
 *   integer, big number                number, bigint past 2^53           null, missing   null
 *   double                             number          boolean            boolean
 */
export type Reply = string | number | bigint | boolean | null | ReplyError | Reply[] | Map<Reply, Reply>;

/** An integer of this many digits is below 2^53. */
const EXACT_DIGITS = 15;
/** `txt:`, the format of a verbatim string, in front of its text. */
const VERBATIM_PREFIX_BYTES = 4;
const MINUS = 0x2d;
const ZERO = 0x30;

export const valueBuilder: ReplyBuilder<Reply> = {
  line(type, bytes, start, end) {
    if (type === ReplyType.Integer) return integerAt(bytes, start, end);
    const text = bytes.toString('utf8', start, end);
    switch (type) {
      case ReplyType.Simple:
        return text;
      case ReplyType.Error:
        return new ReplyError(text);
      case ReplyType.Boolean:
        return text === 't';
      case ReplyType.BigNumber:
        return bigIntegerOf(text);
      case ReplyType.Double:
        return text === 'inf' ? Number.POSITIVE_INFINITY : text === '-inf' ? Number.NEGATIVE_INFINITY : Number(text);
      default:
        return null;
    }
  },
  bulk(type, bytes, start, end) {
    if (type === ReplyType.BulkError) return new ReplyError(bytes.toString('utf8', start, end));
    return bytes.toString('utf8', start + (type === ReplyType.Verbatim ? VERBATIM_PREFIX_BYTES : 0), end);
  },
  missing: () => null,
  aggregate(type, items) {
    if (type !== ReplyType.Map) return items;
    const map = new Map<Reply, Reply>();
    for (let index = 0; index < items.length; index += 2) map.set(items[index]!, items[index + 1]!);
    return map;
  },
};

function integerAt(bytes: Buffer, start: number, end: number): number | bigint {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (end - first > EXACT_DIGITS) {
    const exact = bigIntegerOf(bytes.toString('latin1', start, end));
    const near = Number(exact);
    return Number.isSafeInteger(near) ? near : exact;
  }
  let value = 0;
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit < 0 || digit > 9) throw noInteger(bytes.toString('latin1', start, end));
    value = value * 10 + digit;
  }
  return isNegative ? -value : value;
}

function bigIntegerOf(text: string): bigint {
  if (!/^[+-]?\d+$/.test(text)) throw noInteger(text);
  return BigInt(text);
}

function noInteger(text: string): ProtocolError {
  return new ProtocolError(`the server sent ${JSON.stringify(text.slice(0, 40))} as an integer`);
}
