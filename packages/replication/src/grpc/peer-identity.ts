import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { TransportError } from './transport-error.js';

/**
 * The replica that a certificate names, in subject alternative names of kind URI:
 *
 *   quotadb://CLUSTER/REGION         this is REGION of CLUSTER
 *   quotadb://CLUSTER/REGION?relay   and it may pass on what other regions wrote
 *
 * Cluster and region are percent-encoded. Relay is a second name, not an extension of our own, so that any tool shows
 * it. A certificate has exactly one identity: one for two regions is refused. Host names in it are for other tools: a
 * replica is known by its region, not by its address.
 */
export interface PeerIdentity {
  readonly cluster: string;
  readonly region: string;
  readonly mayRelay: boolean;
}

const SCHEME = 'quotadb://';
const RELAY = '?relay';

export function identityUris({ cluster, region, mayRelay }: PeerIdentity): string[] {
  const uri = `${SCHEME}${encodeURIComponent(cluster)}/${encodeURIComponent(region)}`;
  return mayRelay ? [uri, `${uri}${RELAY}`] : [uri];
}

export function identityOf(certificate: X509Certificate): PeerIdentity {
  const uris = namesOf(certificate.subjectAltName ?? '')
    .filter((name) => name.startsWith(`URI:${SCHEME}`))
    .map((name) => name.slice('URI:'.length));
  const plain = [...new Set(uris.filter((uri) => !uri.endsWith(RELAY)))];
  const relays = uris.filter((uri) => uri.endsWith(RELAY));
  const [uri] = plain;
  if (uri === undefined) {
    throw new TransportError('certificate', `the certificate names no replica (no name ${SCHEME}CLUSTER/REGION in it)`);
  }
  if (plain.length > 1 || relays.some((relay) => relay !== `${uri}${RELAY}`)) {
    throw new TransportError('certificate', `the certificate names more than one replica: ${uris.join(', ')}`);
  }
  const match = /^quotadb:\/\/([^/?#]+)\/([^/?#]+)$/.exec(uri);
  if (match === null) throw new TransportError('certificate', `the certificate names no replica: ${uri}`);
  try {
    return {
      cluster: decodeURIComponent(match[1]),
      region: decodeURIComponent(match[2]),
      mayRelay: relays.length > 0,
    };
  } catch {
    throw new TransportError('certificate', `the certificate names no replica: ${uri}`);
  }
}

/** Node lists names with commas between them, and puts those that could be mistaken for several in quotes. */
export function namesOf(subjectAltName: string): string[] {
  const names: string[] = [];
  for (const [, kind, quoted, bare] of subjectAltName.matchAll(/(?:^|, )([^:,"]+):(?:("(?:[^"\\]|\\.)*")|([^,]*))/g)) {
    names.push(`${kind}:${quoted === undefined ? bare : JSON.parse(quoted)}`);
  }
  return names;
}

/** The replica that the peer's certificate names. Throws TransportError where it has none that is accepted here. */
export function certifiedPeer(socket: TLSSocket): PeerIdentity {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) throw new TransportError('certificate', 'there is no certificate');
  if (!socket.authorized) {
    const subject = certificate.subject.replaceAll('\n', ', ');
    // Node's types say Error, and it is a code.
    const fault = certificateFault(String(socket.authorizationError), certificate);
    throw new TransportError('certificate', `the certificate of "${subject}" ${fault}`);
  }
  return identityOf(certificate);
}

/** OpenSSL's code as the end of a sentence that begins with "the certificate of …". */
function certificateFault(code: string, { validFrom, validTo }: X509Certificate): string {
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
