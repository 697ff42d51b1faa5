import { ProtoWriter } from '@quotadb/wire';
import { type StructValue, writeStruct } from './struct.js';
import { takeBytes } from './text.js';

export const Code = { unknown: 0, ok: 1, overLimit: 2 } as const;
export type Code = (typeof Code)[keyof typeof Code];

export interface CurrentLimit {
  readonly requestsPerUnit: number;
  /** As on the wire: see units. */
  readonly unit: number;
  readonly name: string;
}

export interface DescriptorStatus {
  readonly code: Code;
  /** Undefined where no limit applies. */
  readonly limit: CurrentLimit | undefined;
  readonly remaining: number;
  readonly resetSeconds: number;
}

export interface RateLimitResponse {
  readonly code: Code;
  readonly statuses: readonly DescriptorStatus[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly metadata: StructValue | undefined;
}

/** Reused: a response is written in one go. */
const writer = new ProtoWriter();

export function encodeRateLimitResponse({ code, statuses, headers, metadata }: RateLimitResponse): Buffer {
  writer.length = 0;
  writer.uint53Field(1, code);
  for (const status of statuses) writeStatus(status);
  for (const [name, value] of headers) {
    const start = writer.begin(3);
    writer.textField(1, name);
    writer.textField(2, value);
    writer.end(start);
  }
  if (metadata !== undefined) writeStruct(writer, 6, metadata);
  return takeBytes(writer);
}

function writeStatus({ code, limit, remaining, resetSeconds }: DescriptorStatus): void {
  const start = writer.begin(2);
  writer.uint53Field(1, code);
  if (limit !== undefined) {
    const limitStart = writer.begin(2);
    writer.uint53Field(1, limit.requestsPerUnit);
    writer.uint53Field(2, limit.unit);
    writer.textField(3, limit.name);
    writer.end(limitStart);
  }
  writer.uint53Field(3, remaining);
  if (limit !== undefined) {
    const durationStart = writer.begin(4);
    writer.uint53Field(1, resetSeconds);
    writer.end(durationStart);
  }
  writer.end(start);
}
