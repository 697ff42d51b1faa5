import type { TLSSocket } from 'node:tls';
import { identityOf, type PeerIdentity } from './peer-identity.js';
import { TransportError } from './transport-error.js';

/** OpenSSL's reasons, as an operator would put them. `whose` begins the sentence: "the certificate of …". */
export function certificateWords(code: string, validFrom: string, validTo: string): string {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return `has expired: it was valid until ${validTo}`;
    case 'CERT_NOT_YET_VALID':
      return `is not valid before ${validFrom} (or a clock is wrong)`;
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'CERT_SIGNATURE_FAILURE':
      return 'is of another authority than the one accepted here';
    case 'INVALID_PURPOSE':
      return 'is not meant for this side of a connection';
    default:
      return `is not accepted: ${code}`;
  }
}

/** Whom the other side's certificate names. Throws TransportError where it has none, or none that counts here. */
export function certifiedPeer(socket: TLSSocket): PeerIdentity {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) throw new TransportError('certificate', 'there is no certificate');
  if (!socket.authorized) {
    // Node's types and Node disagree: it is a code.
    const words = certificateWords(String(socket.authorizationError), certificate.validFrom, certificate.validTo);
    throw new TransportError('certificate', `the certificate of "${oneLine(certificate.subject)}" ${words}`);
  }
  return identityOf(certificate);
}

function oneLine(subject: string): string {
  return subject.replaceAll('\n', ', ');
}
