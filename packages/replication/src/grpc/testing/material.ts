import { X509Certificate } from 'node:crypto';
import {
  type CertificateAndKey,
  issueCertificate,
  makeAuthority,
  type Validity,
  validityOf,
} from '../../certificates/certificates.js';
import { identityOf } from '../peer-identity.js';
import type { TlsMaterial } from '../tls-material.js';

export const CLUSTER = 'test';

export function testAuthority(): Promise<CertificateAndKey> {
  return makeAuthority(CLUSTER, validityOf(1));
}

/** Unchecked: tests want certificates that no replica should accept. */
export async function materialOf(
  region: string,
  authority: CertificateAndKey,
  options: { readonly validity?: Validity; readonly mayRelay?: boolean } = {},
): Promise<TlsMaterial> {
  const { validity = validityOf(1), mayRelay = false } = options;
  const identity = { cluster: CLUSTER, region, mayRelay };
  const { certificate, key } = await issueCertificate({ authority, identity, hosts: ['localhost'], validity });
  return { certificate, key, authority: authority.certificate, identity: identityOf(new X509Certificate(certificate)) };
}
