/**
 * Why two replicas could not get, or stay, in touch: a word to count by, and a sentence for the operator.
 *
 *   code        | what happened
 *   ------------|---------------------------------------------------------------------------------------------------
 *   unreachable | no connection: nobody listens, no such host, no answer in time
 *   tls         | the TLS handshake failed, or only one side speaks TLS
 *   certificate | a certificate is missing, expired, not valid yet, of another authority, or for somebody else
 *   protocol    | what came is not gRPC as replicas speak it
 *   busy        | too many connections or streams, or a peer that does not read
 *   silent      | nothing came: no stream was opened, or keepalives were not answered
 *   ended       | the other side, or the network, ended it
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
