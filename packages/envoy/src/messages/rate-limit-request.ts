import { FrameError, ProtoReader } from '@quotadb/wire';
import {
  MAXIMUM_DESCRIPTORS,
  MAXIMUM_DOMAIN_BYTES,
  MAXIMUM_ENTRIES,
  MAXIMUM_ENTRY_BYTES,
  MAXIMUM_HITS,
} from './bounds.js';
import { readFields, readMessage, readText } from './text.js';

export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** A limit that the request brings with it. */
export interface LimitOverride {
  readonly requestsPerUnit: number;
  /** As on the wire: see units. */
  readonly unit: number;
}

export interface RequestDescriptor {
  readonly entries: readonly Entry[];
  readonly limit: LimitOverride | undefined;
  /** Undefined: the request's own. */
  readonly hits: number | undefined;
  readonly isNegative: boolean;
}

export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly RequestDescriptor[];
  readonly hits: number;
}

const MAXIMUM_UINT32 = 2 ** 32 - 1;

/** Throws FrameError for bytes that are no request within the bounds. */
export function decodeRateLimitRequest(bytes: Uint8Array): RateLimitRequest {
  const reader = new ProtoReader(bytes);
  let domain = '';
  let hits = 0;
  const descriptors: RequestDescriptor[] = [];
  readFields(reader, (field) => {
    if (field === 1) domain = readText(reader, MAXIMUM_DOMAIN_BYTES);
    else if (field === 2) {
      if (descriptors.length === MAXIMUM_DESCRIPTORS)
        throw new FrameError(`the request has more than ${MAXIMUM_DESCRIPTORS} descriptors`);
      descriptors.push(readDescriptor(reader));
    } else if (field === 3) hits = reader.uint32(MAXIMUM_HITS, 'hits_addend');
    else return false;
    return true;
  });
  return { domain, descriptors, hits };
}

function readDescriptor(reader: ProtoReader): RequestDescriptor {
  const entries: Entry[] = [];
  let limit: LimitOverride | undefined;
  let hits: number | undefined;
  let isNegative = false;
  readMessage(reader, (field) => {
    if (field === 1) {
      if (entries.length === MAXIMUM_ENTRIES)
        throw new FrameError(`a descriptor has more than ${MAXIMUM_ENTRIES} entries`);
      entries.push(readEntry(reader));
    } else if (field === 2) limit = readOverride(reader);
    else if (field === 3) hits = readWrapped(reader);
    else if (field === 4) isNegative = reader.uint53() !== 0;
    else return false;
    return true;
  });
  return { entries, limit, hits, isNegative };
}

function readEntry(reader: ProtoReader): Entry {
  let key = '';
  let value = '';
  readMessage(reader, (field) => {
    if (field === 1) key = readText(reader, MAXIMUM_ENTRY_BYTES);
    else if (field === 2) value = readText(reader, MAXIMUM_ENTRY_BYTES);
    else return false;
    return true;
  });
  return { key, value };
}

function readOverride(reader: ProtoReader): LimitOverride {
  let requestsPerUnit = 0;
  let unit = 0;
  readMessage(reader, (field) => {
    if (field === 1) requestsPerUnit = reader.uint32(MAXIMUM_UINT32, 'requests_per_unit');
    else if (field === 2) unit = reader.uint32(MAXIMUM_UINT32, 'unit');
    else return false;
    return true;
  });
  return { requestsPerUnit, unit };
}

/** A number in a message of its own, so that 0 differs from none. */
function readWrapped(reader: ProtoReader): number {
  let value = 0;
  readMessage(reader, (field) => {
    if (field !== 1) return false;
    value = reader.uint32(MAXIMUM_HITS, 'hits_addend');
    return true;
  });
  return value;
}
