import { FrameError, ProtoReader, ProtoWriter, WireType } from '@quotadb/wire';
import { MAXIMUM_BUCKETS, MAXIMUM_DOMAIN_BYTES, MAXIMUM_ENTRIES, MAXIMUM_ENTRY_BYTES } from './bounds.js';
import type { Entry } from './rate-limit-request.js';
import { readFields, readMessage, readText, takeBytes } from './text.js';

/** The usage of one bucket since the last report of it. */
export interface BucketUsage {
  /** Sorted by key: the order in which a map comes has no meaning. */
  readonly bucket: readonly Entry[];
  readonly elapsedMs: number;
  readonly allowed: number;
  readonly denied: number;
}

export interface UsageReports {
  /** Empty in all messages of a stream but the first. */
  readonly domain: string;
  readonly usages: readonly BucketUsage[];
}

const MAXIMUM_SECONDS = 2 ** 40;
const MAXIMUM_NANOS = 999_999_999;

/** Throws FrameError for bytes that are no reports within the bounds. */
export function decodeUsageReports(bytes: Uint8Array): UsageReports {
  const reader = new ProtoReader(bytes);
  let domain = '';
  const usages: BucketUsage[] = [];
  readFields(reader, (field) => {
    if (field === 1) domain = readText(reader, MAXIMUM_DOMAIN_BYTES);
    else if (field === 2) {
      if (usages.length === MAXIMUM_BUCKETS)
        throw new FrameError(`a message reports more than ${MAXIMUM_BUCKETS} buckets`);
      // The key of the map is a number of the client's own; the bucket names itself.
      readMessage(reader, (part) => {
        if (part !== 2) return false;
        usages.push(readUsage(reader));
        return true;
      });
    } else return false;
    return true;
  });
  return { domain, usages };
}

function readUsage(reader: ProtoReader): BucketUsage {
  const bucket: Entry[] = [];
  let elapsedMs = 0;
  let allowed = 0;
  let denied = 0;
  readMessage(reader, (field) => {
    if (field === 1) readBucket(reader, bucket);
    else if (field === 2) elapsedMs = readDurationMs(reader);
    else if (field === 3) allowed = reader.uint53();
    else if (field === 4) denied = reader.uint53();
    else return false;
    return true;
  });
  if (bucket.length === 0) throw new FrameError('a report names no bucket');
  bucket.sort((one, other) => (one.key < other.key ? -1 : 1));
  return { bucket, elapsedMs, allowed, denied };
}

function readBucket(reader: ProtoReader, bucket: Entry[]): void {
  readMessage(reader, (field) => {
    if (field !== 1) return false;
    if (bucket.length === MAXIMUM_ENTRIES) throw new FrameError(`a bucket has more than ${MAXIMUM_ENTRIES} entries`);
    let key = '';
    let value = '';
    readMessage(reader, (part) => {
      if (part === 1) key = readText(reader, MAXIMUM_ENTRY_BYTES);
      else if (part === 2) value = readText(reader, MAXIMUM_ENTRY_BYTES);
      else return false;
      return true;
    });
    bucket.push({ key, value });
    return true;
  });
}

function readDurationMs(reader: ProtoReader): number {
  let seconds = 0;
  let nanos = 0;
  readMessage(reader, (field) => {
    if (field === 1) seconds = reader.uint32(MAXIMUM_SECONDS, 'a number of seconds');
    else if (field === 2) nanos = reader.uint32(MAXIMUM_NANOS, 'a number of nanoseconds');
    else return false;
    return true;
  });
  return seconds * 1000 + nanos / 1e6;
}

export type Strategy =
  | { readonly kind: 'allowAll' }
  | { readonly kind: 'denyAll' }
  /** As many requests as there are tokens. No token comes back while the assignment holds: the interval is long. */
  | { readonly kind: 'tokens'; readonly tokens: number; readonly fillSeconds: number };

export type BucketAction =
  | { readonly bucket: readonly Entry[]; readonly strategy: Strategy; readonly ttlMs: number }
  | { readonly bucket: readonly Entry[]; readonly strategy: undefined };

export function encodeQuotaResponse(actions: readonly BucketAction[]): Buffer {
  const writer = new ProtoWriter();
  for (const action of actions) {
    const start = writer.begin(1);
    writeBucket(writer, action.bucket);
    if (action.strategy === undefined) writer.end(writer.begin(3));
    else {
      const assignment = writer.begin(2);
      writeDuration(writer, 2, action.ttlMs);
      writeStrategy(writer, action.strategy);
      writer.end(assignment);
    }
    writer.end(start);
  }
  return takeBytes(writer);
}

function writeBucket(writer: ProtoWriter, bucket: readonly Entry[]): void {
  const start = writer.begin(1);
  for (const { key, value } of bucket) {
    const entry = writer.begin(1);
    writer.textField(1, key);
    writer.textField(2, value);
    writer.end(entry);
  }
  writer.end(start);
}

function writeStrategy(writer: ProtoWriter, strategy: Strategy): void {
  const start = writer.begin(3);
  if (strategy.kind === 'tokens') {
    const bucket = writer.begin(3);
    writer.uint53Field(1, strategy.tokens);
    const perFill = writer.begin(2);
    writer.uint53Field(1, 1);
    writer.end(perFill);
    writeDuration(writer, 3, strategy.fillSeconds * 1000);
    writer.end(bucket);
  } else {
    // One of several fields: also ALLOW_ALL, which is 0, is written.
    writer.tag(1, WireType.varint);
    writer.reserve(1);
    writer.uint53(strategy.kind === 'denyAll' ? 1 : 0);
  }
  writer.end(start);
}

function writeDuration(writer: ProtoWriter, field: number, milliseconds: number): void {
  const start = writer.begin(field);
  writer.uint53Field(1, Math.floor(milliseconds / 1000));
  writer.uint53Field(2, Math.round((milliseconds % 1000) * 1e6));
  writer.end(start);
}
