import { TransportError } from './transport-error.js';

/** The errors of Node and OpenSSL for failed connections, as sentences for an operator. */

/** On the listening side, while TLS begins. */
export function handshakeError(error: NodeJS.ErrnoException): TransportError {
  switch (error.code) {
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_HTTP_REQUEST':
      return new TransportError('tls', 'the peer does not speak TLS, and this one asks for it');
    case 'ERR_SSL_UNSUPPORTED_PROTOCOL':
      return new TransportError('tls', 'the peer does not speak TLS 1.3');
    case 'ERR_SSL_NO_APPLICATION_PROTOCOL':
      return new TransportError('tls', 'the peer speaks TLS, but not HTTP/2');
    case 'ECONNRESET':
      return new TransportError(
        'certificate',
        'the peer closed the connection during the TLS handshake: it may not accept the certificate here',
      );
    default:
      return new TransportError('tls', `the TLS handshake failed: ${error.message}`);
  }
}

/** On either side, once HTTP/2 should begin. */
export function sessionError(error: NodeJS.ErrnoException): TransportError {
  if (error instanceof TransportError) return error;
  if (error.code === 'ERR_HTTP2_ERROR') {
    return new TransportError(
      'protocol',
      `the peer does not speak HTTP/2: ${error.message}; is TLS on at one side only?`,
    );
  }
  return new TransportError('ended', `the connection broke: ${error.message}`);
}

/** On the dialing side, before there is a connection. */
export function connectError(error: NodeJS.ErrnoException, address: string): TransportError {
  switch (error.code) {
    case 'ECONNREFUSED':
      return new TransportError('unreachable', `connection refused: no server listens at ${address}`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new TransportError('unreachable', `the host of ${address} cannot be found`);
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return new TransportError('tls', `${address} does not speak TLS, and this replica asks for it`);
    case 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION':
      return new TransportError('tls', `${address} does not speak TLS 1.3`);
    case 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL':
      return new TransportError('tls', `${address} speaks TLS, but not HTTP/2`);
    default:
      return new TransportError(
        error.code?.startsWith('ERR_SSL') === true ? 'tls' : 'unreachable',
        `no connection to ${address}: ${error.message}`,
      );
  }
}
