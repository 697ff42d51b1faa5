/**
 * The request that makes up nearly all of the traffic, in its plainest form and nothing else:
 *
 *   POST /api/v1/counts/ID/increase HTTP/1.1     ID of unreserved characters; or decrease, reset
 *   Host: …                                      once; header lines of visible ASCII
 *   Content-Length: n                            absent or 0 for no body
 *
 *   {"amount":1}                                 no body, or an object with a plain amount; for reset nothing or {}
 *
 * This is no HTTP parser and must not become one. Whatever differs in any way, valid or not, is left to node:http, so
 * there is one place that decides what HTTP is.
 */
export type PlainAction = 'increase' | 'decrease' | 'reset';

const REQUEST_LINE = /POST \/api\/v1\/counts\/([A-Za-z0-9._~:-]{1,255})\/(increase|decrease|reset) HTTP\/1\.1\r\n/y;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
const AMOUNT_BODY = /^\{"amount":\s?(0|[1-9]\d{0,14})\}$/;
const JSON_MEDIA_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Longer heads are rare, and node:http has its own limits for them. */
const MAX_HEAD_LENGTH = 4_096;

/** Headers that change how a request is framed or answered, and those by which a browser names its page: not plain. */
const SPECIAL_HEADERS = new Set([
  'transfer-encoding',
  'content-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'http2-settings',
  'proxy-connection',
  'origin',
  'sec-fetch-site',
]);

/** What matters of a header block. Clients send the same block again and again, so it is parsed once and kept. */
export interface PlainHeaders {
  readonly host: string;
  readonly contentLength: number;
  readonly authorization: string | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface PlainRequest {
  readonly itemId: string;
  readonly action: PlainAction;
  readonly amount: bigint;
  readonly headers: PlainHeaders;
  /** Where the next request begins. */
  readonly end: number;
}

/** Reads plain requests off a connection, remembering its last header block. */
export class PlainRequestReader {
  #lastBlock: string | undefined;
  #lastHeaders: PlainHeaders | undefined;

  /**
   * The request that begins at `start`, or undefined when it is not plain or not all there. `text` holds a char per
   * byte.
   */
  read(text: string, start: number): PlainRequest | undefined {
    REQUEST_LINE.lastIndex = start;
    const line = REQUEST_LINE.exec(text);
    if (line === null) return undefined;
    const blockStart = REQUEST_LINE.lastIndex;
    const blockEnd = text.indexOf('\r\n\r\n', blockStart);
    if (blockEnd === -1 || blockEnd - start > MAX_HEAD_LENGTH) return undefined;
    const headers = this.#headersOf(text.slice(blockStart, blockEnd));
    if (headers === undefined) return undefined;
    const bodyStart = blockEnd + 4;
    const end = bodyStart + headers.contentLength;
    if (end > text.length) return undefined;
    const action = line[2] as PlainAction;
    const amount = amountOf(action, text.slice(bodyStart, end));
    return amount === undefined ? undefined : { itemId: line[1]!, action, amount, headers, end };
  }

  #headersOf(block: string): PlainHeaders | undefined {
    if (block !== this.#lastBlock) {
      this.#lastBlock = block;
      this.#lastHeaders = parseHeaders(block);
    }
    return this.#lastHeaders;
  }
}

function amountOf(action: PlainAction, body: string): bigint | undefined {
  if (body === '') return 1n;
  if (action === 'reset') return body === '{}' ? 0n : undefined;
  const amount = AMOUNT_BODY.exec(body)?.[1];
  return amount === undefined ? undefined : BigInt(amount);
}

function parseHeaders(block: string): PlainHeaders | undefined {
  const values = new Map<string, string>();
  for (const line of block.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = withoutBlanks(line, colon + 1);
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return undefined;
    if (SPECIAL_HEADERS.has(name) || values.has(name)) return undefined;
    values.set(name, value);
  }
  const length = values.get('content-length') ?? '0';
  const host = values.get('host');
  const isPlain =
    host !== undefined &&
    /^\d{1,3}$/.test(length) &&
    /^keep-alive$/i.test(values.get('connection') ?? 'keep-alive') &&
    JSON_MEDIA_TYPE.test(values.get('content-type') ?? 'application/json');
  if (!isPlain) return undefined;
  return {
    host,
    contentLength: Number(length),
    authorization: values.get('authorization'),
    idempotencyKey: values.get('idempotency-key'),
  };
}

/** Spaces and tabs around a value are no part of it; trim() would take away more. */
function withoutBlanks(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (line[start] === ' ' || line[start] === '\t') start++;
  while (end > start && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return line.slice(start, end);
}
