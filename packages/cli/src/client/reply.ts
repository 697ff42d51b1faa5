import { isUtf8 } from 'node:buffer';
import { type ReplyBuilder, ReplyType } from '@quotadb/client/resp';

/** A reply with its type, for people and JSON: RESP2 and RESP3 alike. */
export type Reply =
  | {
      readonly kind: 'text' | 'simple' | 'verbatim' | 'error' | 'big';
      readonly text: string;
      /** The content where it is not UTF-8: a key may be any bytes. */
      readonly bytes?: Buffer;
    }
  | { readonly kind: 'integer' | 'double'; readonly text: string; readonly bytes?: undefined }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'nil' }
  | { readonly kind: 'array' | 'set' | 'push'; readonly items: readonly Reply[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [Reply, Reply])[] };

const LINE_KINDS: Readonly<Record<number, 'simple' | 'error' | 'integer' | 'double' | 'big'>> = {
  [ReplyType.Simple]: 'simple',
  [ReplyType.Error]: 'error',
  [ReplyType.Integer]: 'integer',
  [ReplyType.Double]: 'double',
  [ReplyType.BigNumber]: 'big',
};
const AGGREGATE_KINDS: Readonly<Record<number, 'array' | 'set' | 'push'>> = {
  [ReplyType.Array]: 'array',
  [ReplyType.Set]: 'set',
  [ReplyType.Push]: 'push',
};
/** `txt:` in front of the text of a verbatim string. */
const VERBATIM_PREFIX_BYTES = 4;

export const replyBuilder: ReplyBuilder<Reply> = {
  line(type, bytes, start, end) {
    if (type === ReplyType.Null) return { kind: 'nil' };
    const text = bytes.toString('utf8', start, end);
    return type === ReplyType.Boolean ? { kind: 'boolean', value: text === 't' } : { kind: LINE_KINDS[type], text };
  },
  bulk(type, bytes, start, end) {
    if (type === ReplyType.Verbatim) {
      return { kind: 'verbatim', text: bytes.toString('utf8', start + VERBATIM_PREFIX_BYTES, end) };
    }
    const kind = type === ReplyType.BulkError ? 'error' : 'text';
    const content = bytes.subarray(start, end);
    const text = content.toString('utf8');
    return isUtf8(content) ? { kind, text } : { kind, text, bytes: Buffer.from(content) };
  },
  missing: () => ({ kind: 'nil' }),
  aggregate(type, items) {
    if (type !== ReplyType.Map) return { kind: AGGREGATE_KINDS[type], items };
    const entries: [Reply, Reply][] = [];
    for (let index = 0; index < items.length; index += 2) entries.push([items[index], items[index + 1]]);
    return { kind: 'map', entries };
  },
};

/** The text of a reply; empty where it has none. */
export function textOf(reply: Reply): string {
  return 'text' in reply ? reply.text : '';
}
