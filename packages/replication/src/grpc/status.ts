import { TransportError, type TransportErrorCode } from './transport-error.js';

/** The status codes of gRPC that are used here. */
export const GrpcStatus = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;
export type GrpcStatus = (typeof GrpcStatus)[keyof typeof GrpcStatus];

const codeOf: Readonly<Record<number, TransportErrorCode>> = {
  [GrpcStatus.resourceExhausted]: 'busy',
  [GrpcStatus.unimplemented]: 'protocol',
  [GrpcStatus.internal]: 'protocol',
  [GrpcStatus.unavailable]: 'ended',
  [GrpcStatus.unauthenticated]: 'certificate',
};

/** The status with which the peer ended a stream, as an error; undefined for `ok`. */
export function errorOfStatus(headers: { readonly [name: string]: unknown }): TransportError | undefined {
  const status = Number(headers['grpc-status']);
  if (status === GrpcStatus.ok) return undefined;
  const message = decodeMessage(String(headers['grpc-message'] ?? ''));
  return new TransportError(
    codeOf[status] ?? 'ended',
    message === '' ? `the peer ended the stream with status ${status}` : message,
  );
}

/** gRPC percent-encodes bytes that are not printable ASCII. */
export function encodeMessage(message: string): string {
  return [...Buffer.from(message)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('');
}

/** A message that is not encoded properly is shown as it came. */
export function decodeMessage(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
