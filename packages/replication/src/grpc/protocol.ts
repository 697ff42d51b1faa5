import { constants, type IncomingHttpHeaders } from 'node:http2';
import { encodeMessage, GrpcStatus } from './status.js';
import { TransportError } from './transport-error.js';

/** The only call, as replication.proto names it. */
export const EXCHANGE_PATH = '/quotadb.replication.v1.Replication/Exchange';
export const CONTENT_TYPE = 'application/grpc+proto';

/** How a request is rejected before its stream begins: a response of headers only. */
export interface Rejection {
  readonly error: TransportError;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** Undefined where the request is a call of Exchange. */
export function findRejection(headers: IncomingHttpHeaders): Rejection | undefined {
  const method = headers[constants.HTTP2_HEADER_METHOD];
  const path = headers[constants.HTTP2_HEADER_PATH];
  if (method !== 'POST') return { error: wrong(`the method ${method} instead of POST`), headers: { ':status': 405 } };
  if (!isGrpc(headers['content-type'])) {
    const error = wrong(`the content type ${headers['content-type'] ?? 'is missing'} instead of application/grpc`);
    return { error, headers: { ':status': 415 } };
  }
  if (path !== EXCHANGE_PATH)
    return withStatus(GrpcStatus.unimplemented, wrong(`a call of ${path}, which is not there`));
  const encoding = headers['grpc-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    return withStatus(GrpcStatus.unimplemented, wrong(`messages compressed with ${encoding}`));
  }
  return undefined;
}

export function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:\+proto)?(?:\s*;.*)?$/i.test(contentType);
}

export function withStatus(status: GrpcStatus, error: TransportError): Rejection {
  const headers = { ':status': 200, 'content-type': CONTENT_TYPE, ...statusHeaders(status, error.message) };
  return { error, headers };
}

export function statusHeaders(status: GrpcStatus, message: string): Record<string, string> {
  const headers: Record<string, string> = { 'grpc-status': String(status) };
  if (message !== '') headers['grpc-message'] = encodeMessage(message);
  return headers;
}

function wrong(what: string): TransportError {
  return new TransportError('protocol', `the request is not from a replica: ${what}`);
}
