import './reflect-metadata.js';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { identityUris, type PeerIdentity } from '../grpc/peer-identity.js';

/**
 * Certificates for a cluster: an authority, and one for each replica, signed by it. Keys are on the curve P-256, which
 * every TLS library has and which is quick. How a certificate names its replica is in grpc/peer-identity.ts.
 */
export interface CertificateAndKey {
  /** Both in PEM. */
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly from: Date;
  readonly to: Date;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** Clocks of other machines may be behind. */
const BACKDATED_MS = 5 * 60_000;
const DAY_MS = 86_400_000;

x509.cryptoProvider.set(webcrypto);

export function validityOf(days: number, nowMs: number = Date.now()): Validity {
  return { from: new Date(nowMs - BACKDATED_MS), to: new Date(nowMs + days * DAY_MS) };
}

export async function makeAuthority(cluster: string, validity: Validity): Promise<CertificateAndKey> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: nameOf({ O: ['QuotaDB'], CN: [`${cluster} authority`] }),
    notBefore: validity.from,
    notAfter: validity.to,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      // The cluster, for `issue` to know it.
      new x509.SubjectAlternativeNameExtension([{ type: 'url', value: clusterUri(cluster) }]),
    ],
  });
  return { certificate: pemOf(certificate), key: await pemOfKey(keys) };
}

export interface IssueOptions {
  readonly authority: CertificateAndKey;
  readonly identity: PeerIdentity;
  /** Host names and addresses, for other tools: replicas know each other by region. */
  readonly hosts: readonly string[];
  readonly validity: Validity;
}

export async function issueCertificate(options: IssueOptions): Promise<CertificateAndKey> {
  const { authority, identity, hosts, validity } = options;
  const issuer = new x509.X509Certificate(authority.certificate);
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: nameOf({ O: ['QuotaDB'], OU: [identity.cluster], CN: [identity.region] }),
    issuer: issuer.subject,
    notBefore: validity.from,
    // A certificate that outlives its authority is of no use, and its date would mislead.
    notAfter: validity.to < issuer.notAfter ? validity.to : issuer.notAfter,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      // Every replica listens and dials.
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      new x509.SubjectAlternativeNameExtension([
        ...identityUris(identity).map((value) => ({ type: 'url' as const, value })),
        ...hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ]),
    ],
  });
  return { certificate: pemOf(certificate), key: await pemOfKey(keys) };
}

/** The cluster that an authority was made for; undefined where it was not made here. */
export function clusterOf(authorityCertificate: string): string | undefined {
  const names = new x509.X509Certificate(authorityCertificate).getExtension(
    x509.SubjectAlternativeNameExtension,
  )?.names;
  const uri = names?.items.find(({ type, value }) => type === 'url' && value.startsWith(CLUSTER_SCHEME))?.value;
  return uri === undefined ? undefined : decodeURIComponent(uri.slice(CLUSTER_SCHEME.length));
}

const CLUSTER_SCHEME = 'quotadb-cluster:';

function clusterUri(cluster: string): string {
  return `${CLUSTER_SCHEME}${encodeURIComponent(cluster)}`;
}

/** As values, not as text that would have to be escaped. */
function nameOf(values: Record<string, string[]>): x509.Name {
  return new x509.Name(Object.entries(values).map(([kind, value]) => ({ [kind]: value })));
}

/** 127 random bits: positive, and never the same twice. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] & 0x7f) | 0x40;
  return bytes.toString('hex');
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const [pkcs8] = x509.PemConverter.decode(pem);
  return await webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']);
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

async function pemOfKey({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', privateKey);
  return `${x509.PemConverter.encode(pkcs8, x509.PemConverter.PrivateKeyTag)}\n`;
}
