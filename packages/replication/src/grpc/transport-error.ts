/**
 * Why a connection between two replicas failed or ended: a code for metrics, and a sentence for the operator.
 *
 *   code        | what happened
 *   ------------|---------------------------------------------------------------------------------------------------
 *   unreachable | no connection: no listener, no such host, no answer in time
 *   tls         | the TLS handshake failed, or only one side speaks TLS
 *   certificate | a certificate is missing, expired, not valid yet, of another authority, or for another region
 *   protocol    | the peer does not speak gRPC as replicas do
 *   busy        | too many connections or streams, or a peer that does not read
 *   silent      | no stream was opened in time, or keepalives were not answered
 *   ended       | the peer, or the network, ended it
 */
export type TransportErrorCode = 'unreachable' | 'tls' | 'certificate' | 'protocol' | 'busy' | 'silent' | 'ended';

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
