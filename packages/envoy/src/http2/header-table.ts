import { HEADER_TABLE_BYTES } from './bounds.js';

export type Field = readonly [name: string, value: string];

/** RFC 7541, appendix A: fields with values first, then names alone. The first has the index 1. */
const STATIC: readonly Field[] = [
  ...[
    ':authority=',
    ':method=GET',
    ':method=POST',
    ':path=/',
    ':path=/index.html',
    ':scheme=http',
    ':scheme=https',
    ...['200', '204', '206', '304', '400', '404', '500'].map((status) => `:status=${status}`),
    'accept-charset=',
    'accept-encoding=gzip, deflate',
  ].map((field): Field => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)]),
  ...(
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control ' +
    'content-disposition content-encoding content-language content-length content-location content-range ' +
    'content-type cookie date etag expect expires from host if-match if-modified-since if-none-match if-range ' +
    'if-unmodified-since last-modified link location max-forwards proxy-authenticate proxy-authorization range ' +
    'referer refresh retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary via ' +
    'www-authenticate'
  )
    .split(' ')
    .map((name): Field => [name, '']),
];

const FIELD_OVERHEAD_BYTES = 32;

/** What a field takes of a table or a list, as the protocol counts. */
export function fieldBytes(name: string, value: string): number {
  return name.length + value.length + FIELD_OVERHEAD_BYTES;
}

/** The fields that a client can refer to by number: the static ones, and its own latest. */
export class HeaderTable {
  /** Latest last. */
  private readonly own: Field[] = [];
  private bytes = 0;
  private maximumBytes: number = HEADER_TABLE_BYTES;

  get(index: number): Field | undefined {
    if (index <= STATIC.length) return STATIC[index - 1];
    return this.own[this.own.length - (index - STATIC.length)];
  }

  /** A field larger than the table empties it: so the protocol says. */
  add(field: Field): void {
    this.own.push(field);
    this.bytes += fieldBytes(...field);
    this.evict();
  }

  resize(maximumBytes: number): void {
    this.maximumBytes = maximumBytes;
    this.evict();
  }

  private evict(): void {
    while (this.bytes > this.maximumBytes) this.bytes -= fieldBytes(...(this.own.shift() as Field));
  }
}
