import { X509Certificate } from 'node:crypto';
import { identityOf, namesOf } from '../grpc/peer-identity.js';

const DAY_MS = 86_400_000;

/** The content of a certificate. A region's has a cluster, a region and whether it may relay. */
export interface CertificateContent {
  readonly subject: string;
  readonly issuer: string;
  readonly kind: 'authority' | 'replica' | 'other';
  readonly cluster?: string;
  readonly region?: string;
  readonly mayRelay?: boolean;
  /** Why it is no region's, where it is neither that nor an authority. */
  readonly reason?: string;
  readonly hosts: readonly string[];
  /** ISO 8601. */
  readonly validFrom: string;
  readonly validUntil: string;
  readonly serial: string;
  readonly fingerprint: string;
}

/** Throws where the PEM is no certificate. */
export function readCertificate(pem: string): CertificateContent {
  const certificate = new X509Certificate(pem);
  const hosts = namesOf(certificate.subjectAltName ?? '').filter((name) => !name.startsWith('URI:'));
  return {
    subject: certificate.subject.replaceAll('\n', ', '),
    issuer: certificate.issuer.replaceAll('\n', ', '),
    ...kindOf(certificate),
    hosts,
    validFrom: new Date(certificate.validFrom).toISOString(),
    validUntil: new Date(certificate.validTo).toISOString(),
    serial: certificate.serialNumber,
    fingerprint: certificate.fingerprint256,
  };
}

type Kind = Pick<CertificateContent, 'kind' | 'cluster' | 'region' | 'mayRelay' | 'reason'>;

function kindOf(certificate: X509Certificate): Kind {
  if (certificate.ca) return { kind: 'authority' };
  try {
    return { kind: 'replica', ...identityOf(certificate) };
  } catch (error) {
    return { kind: 'other', reason: (error as Error).message };
  }
}

/** The content of a certificate in lines of text. Throws where the PEM is no certificate. */
export function describeCertificate(pem: string, nowMs: number = Date.now()): string[] {
  const content = readCertificate(pem);
  return [
    `subject      ${content.subject}`,
    `issuer       ${content.issuer}`,
    ...kindLines(content),
    ...(content.hosts.length === 0 ? [] : [`hosts        ${content.hosts.join(', ')}`]),
    `valid from   ${content.validFrom}`,
    `valid until  ${content.validUntil} (${timeLeft(content, nowMs)})`,
    `serial       ${content.serial}`,
    `fingerprint  ${content.fingerprint}`,
  ];
}

function kindLines({ kind, cluster, region, mayRelay, reason }: CertificateContent): string[] {
  if (kind === 'authority') return ['kind         authority'];
  if (kind === 'other') return [`kind         not a replica's: ${reason}`];
  return [
    'kind         replica',
    `cluster      ${cluster}`,
    `region       ${region}`,
    `may relay    ${mayRelay ? 'yes' : 'no'}`,
  ];
}

function timeLeft({ validFrom, validUntil }: CertificateContent, nowMs: number): string {
  const days = (Date.parse(validUntil) - nowMs) / DAY_MS;
  if (nowMs < Date.parse(validFrom)) return 'not valid yet';
  if (days < 0) return 'expired';
  return days < 1 ? 'less than a day left' : `${Math.floor(days)} days left`;
}
