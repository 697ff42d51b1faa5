import { ProtoReader, ProtoWriter } from '@quotadb/wire';
import { readFields, readText, takeBytes } from './text.js';

export const ServingStatus = { serving: 1, notServing: 2, serviceUnknown: 3 } as const;
export type ServingStatus = (typeof ServingStatus)[keyof typeof ServingStatus];

const MAXIMUM_SERVICE_BYTES = 256;

/** The service that is asked for; empty for the server as a whole. */
export function decodeHealthRequest(bytes: Uint8Array): string {
  const reader = new ProtoReader(bytes);
  let service = '';
  readFields(reader, (field) => {
    if (field !== 1) return false;
    service = readText(reader, MAXIMUM_SERVICE_BYTES);
    return true;
  });
  return service;
}

export function encodeHealthResponse(status: ServingStatus): Buffer {
  const writer = new ProtoWriter();
  writer.uint53Field(1, status);
  return takeBytes(writer);
}
