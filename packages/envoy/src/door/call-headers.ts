import { CONTENT_TYPE, GrpcStatus, isGrpc, statusHeaders } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';
import { encodeHeaders } from '../http2/header-encoder.js';
import type { RequestHeaders } from '../http2/request-headers.js';

const REPLY_FIELDS = { ':status': '200', 'content-type': CONTENT_TYPE } as const;
export const REPLY_HEADERS: Buffer = encodeHeaders(REPLY_FIELDS);
export const OK_TRAILERS: Buffer = encodeHeaders({ 'grpc-status': '0' });

/** A response without a message: the status in its headers. For requests that are not gRPC, an HTTP status alone. */
export function refusalHeaders(fault: number | Refusal): Buffer {
  if (typeof fault === 'number') return encodeHeaders({ ':status': String(fault) });
  return encodeHeaders({ ...REPLY_FIELDS, ...statusHeaders(fault.status, fault.message) });
}

export function refusalTrailers({ status, message }: Refusal): Buffer {
  return encodeHeaders(statusHeaders(status, message));
}

/** An HTTP status for requests that are not gRPC, or a Refusal for calls that cannot be read. */
export function findFault({ method, contentType, encoding }: RequestHeaders): number | Refusal | undefined {
  if (method !== 'POST') return 405;
  if (contentType !== 'application/grpc' && !isGrpc(contentType)) return 415;
  if (encoding === undefined || encoding === 'identity') return undefined;
  return new Refusal(GrpcStatus.unimplemented, `messages compressed with ${encoding.slice(0, 200)} are not supported`);
}

const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** The time that the client gives the call: `20m` are 20 milliseconds. Undefined where it sets none. */
export function timeoutMsOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  return digits === undefined || unit === undefined ? undefined : Number(digits) * UNITS_MS[unit];
}
