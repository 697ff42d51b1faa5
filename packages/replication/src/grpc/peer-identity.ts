import type { X509Certificate } from 'node:crypto';
import { TransportError } from './transport-error.js';

/**
 * Who a replica is, as its certificate says it, in subject alternative names of kind URI:
 *
 *   quotadb://CLUSTER/REGION         this is REGION of CLUSTER
 *   quotadb://CLUSTER/REGION?relay   and it may pass on what other regions wrote
 *
 * Cluster and region are percent-encoded. A second name, not an extension of our own, so that any tool shows it. Exactly one
 * identity: a certificate that speaks for two regions speaks for none. Host names in it are for other tools: a replica is
 * known by its region, wherever it is reached.
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
