import { X509Certificate } from 'node:crypto';
import { identityOf, namesOf } from '../grpc/peer-identity.js';

const DAY_MS = 86_400_000;

/** The content of a certificate in lines of text. Throws where the PEM is no certificate. */
export function describeCertificate(pem: string, nowMs: number = Date.now()): string[] {
  const certificate = new X509Certificate(pem);
  const hosts = namesOf(certificate.subjectAltName ?? '').filter((name) => !name.startsWith('URI:'));
  return [
    `subject      ${certificate.subject.replaceAll('\n', ', ')}`,
    `issuer       ${certificate.issuer.replaceAll('\n', ', ')}`,
    ...(certificate.ca ? ['kind         authority'] : replicaLines(certificate)),
    ...(hosts.length === 0 ? [] : [`hosts        ${hosts.join(', ')}`]),
    `valid from   ${certificate.validFrom}`,
    `valid until  ${certificate.validTo} (${timeLeft(certificate, nowMs)})`,
    `serial       ${certificate.serialNumber}`,
    `fingerprint  ${certificate.fingerprint256}`,
  ];
}

function replicaLines(certificate: X509Certificate): string[] {
  try {
    const { cluster, region, mayRelay } = identityOf(certificate);
    return [
      'kind         replica',
      `cluster      ${cluster}`,
      `region       ${region}`,
      `may relay    ${mayRelay ? 'yes' : 'no'}`,
    ];
  } catch (error) {
    return [`kind         not a replica's: ${(error as Error).message}`];
  }
}

function timeLeft({ validFrom, validTo }: X509Certificate, nowMs: number): string {
  const days = (Date.parse(validTo) - nowMs) / DAY_MS;
  if (nowMs < Date.parse(validFrom)) return 'not valid yet';
  if (days < 0) return 'expired';
  return days < 1 ? 'less than a day left' : `${Math.floor(days)} days left`;
}
