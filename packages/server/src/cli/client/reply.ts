import { isUtf8 } from 'node:buffer';

/** A reply of the server, as the wire has it: RESP2 and RESP3 alike. */
export type Reply =
  | {
      readonly kind: 'text' | 'simple' | 'verbatim' | 'error' | 'big';
      readonly text: string;
      /** Where what came is no UTF-8: a key may be any bytes. */
      readonly bytes?: Buffer;
    }
  | { readonly kind: 'integer' | 'double'; readonly text: string; readonly bytes?: undefined }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'nil' }
  | { readonly kind: 'array' | 'set' | 'push'; readonly items: readonly Reply[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [Reply, Reply])[] };

interface Open {
  readonly kind: 'array' | 'set' | 'push' | 'map';
  readonly items: Reply[];
  left: number;
}

const CR = 13;
const LINE_KINDS: Readonly<Record<string, 'simple' | 'error' | 'integer' | 'double' | 'big'>> = {
  '+': 'simple',
  '-': 'error',
  ':': 'integer',
  ',': 'double',
  '(': 'big',
};
const BULK_KINDS: Readonly<Record<string, 'text' | 'verbatim' | 'error'>> = {
  $: 'text',
  '=': 'verbatim',
  '!': 'error',
};
const AGGREGATE_KINDS: Readonly<Record<string, Open['kind']>> = { '*': 'array', '~': 'set', '>': 'push', '%': 'map' };
/** `txt:` in front of what a verbatim string says. */
const VERBATIM_PREFIX = 4;

/** Reads replies from bytes that come in pieces; what has been read is not looked at again. */
export class ReplyReader {
  private buffer: Buffer = Buffer.alloc(0);
  private position = 0;
  private readonly open: Open[] = [];

  push(bytes: Buffer): void {
    this.buffer =
      this.position === this.buffer.length ? bytes : Buffer.concat([this.buffer.subarray(this.position), bytes]);
    this.position = 0;
  }

  /** The next whole reply; undefined while it has not arrived. Throws where the bytes are no reply. */
  next(): Reply | undefined {
    for (;;) {
      const piece = this.piece();
      if (piece === undefined) return undefined;
      if ('left' in piece) {
        this.open.push(piece);
        if (piece.left > 0) continue;
      }
      const complete = 'left' in piece ? this.close() : this.put(piece);
      if (complete !== undefined) return complete;
    }
  }

  /** A finished reply goes into the one that is open, which may be finished with it. */
  private put(reply: Reply): Reply | undefined {
    const parent = this.open.at(-1);
    if (parent === undefined) return reply;
    parent.items.push(reply);
    parent.left--;
    return parent.left === 0 ? this.close() : undefined;
  }

  private close(): Reply | undefined {
    const done = this.open.pop() as Open;
    return this.put(finished(done));
  }

  private piece(): Reply | Open | undefined {
    const { buffer, position } = this;
    const end = buffer.indexOf(CR, position);
    if (end < 0 || end + 1 >= buffer.length) return undefined;
    const type = String.fromCharCode(buffer[position]);
    const line = buffer.toString('utf8', position + 1, end);
    if (type in BULK_KINDS) return this.bulk(BULK_KINDS[type], Number(line), end + 2);
    this.position = end + 2;
    if (type in LINE_KINDS) return { kind: LINE_KINDS[type], text: line };
    if (type in AGGREGATE_KINDS) {
      const kind = AGGREGATE_KINDS[type];
      const length = Number(line);
      if (length < 0) return { kind: 'nil' };
      return { kind, items: [], left: kind === 'map' ? length * 2 : length };
    }
    if (type === '_') return { kind: 'nil' };
    if (type === '#') return { kind: 'boolean', value: line === 't' };
    throw new Error(`this is no reply: ${JSON.stringify(type + line.slice(0, 40))}. Is it a QuotaDB or Redis server?`);
  }

  private bulk(kind: 'text' | 'verbatim' | 'error', length: number, from: number): Reply | undefined {
    if (length < 0) {
      this.position = from;
      return { kind: 'nil' };
    }
    if (from + length + 2 > this.buffer.length) return undefined;
    const given = this.buffer.subarray(from, from + length);
    const text = given.toString('utf8');
    this.position = from + length + 2;
    if (kind === 'verbatim') return { kind, text: text.slice(VERBATIM_PREFIX) };
    return isUtf8(given) ? { kind, text } : { kind, text, bytes: Buffer.from(given) };
  }
}

function finished({ kind, items }: Open): Reply {
  if (kind !== 'map') return { kind, items };
  const entries: [Reply, Reply][] = [];
  for (let index = 0; index < items.length; index += 2) entries.push([items[index], items[index + 1]]);
  return { kind, entries };
}
