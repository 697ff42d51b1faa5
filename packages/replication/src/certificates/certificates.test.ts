import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { identityOf, namesOf } from '../grpc/peer-identity.js';
import { clusterOf, issueCertificate, makeAuthority, validityOf } from './certificates.js';
import { filesOf } from './directory.js';

const authority = await makeAuthority('orders, "EU"\n', validityOf(10));

test('an authority signs, is marked as one, and knows its cluster', () => {
  const certificate = new X509Certificate(authority.certificate);
  expect(certificate.ca).toBe(true);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(authority.key))).toBe(true);
  expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
  expect(clusterOf(authority.certificate)).toBe('orders, "EU"\n');
});

test.each([true, false])(
  'a certificate names its replica, hosts and rights, also odd ones (relay: %s)',
  async (mayRelay) => {
    const identity = { cluster: 'orders, URI:quotadb://x/y', region: 'eu?relay', mayRelay };
    const hosts = ['eu.example.com', '10.0.0.7', '::1'];
    const { certificate: pem, key } = await issueCertificate({ authority, identity, hosts, validity: validityOf(5) });
    const certificate = new X509Certificate(pem);
    expect(identityOf(certificate)).toEqual(identity);
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    expect(certificate.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.checkHost('eu.example.com')).toBe('eu.example.com');
    expect(certificate.checkIP('10.0.0.7')).toBe('10.0.0.7');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  },
);

test('a certificate does not outlive its authority', async () => {
  const identity = { cluster: 'c', region: 'eu', mayRelay: false };
  const { certificate } = await issueCertificate({ authority, identity, hosts: [], validity: validityOf(1000) });
  expect(new X509Certificate(certificate).validTo).toBe(new X509Certificate(authority.certificate).validTo);
});

test('a member has a certificate of its own, which is none of its region', async () => {
  const identity = { cluster: 'c', region: 'us/a', mayRelay: false };
  const { certificate } = await issueCertificate({ authority, identity, hosts: [], validity: validityOf(5) });
  expect(new X509Certificate(certificate).subjectAltName).toContain('quotadb://c/us%2Fa');
  expect(identityOf(new X509Certificate(certificate))).toEqual(identity);
  expect(filesOf('certs', 'us/a').certFile).toBe(join('certs', 'us.a.crt'));
});

test('a certificate for no replica, or for two, has no identity', async () => {
  expect(() => identityOf(new X509Certificate(authority.certificate))).toThrow(/names no replica/);
  const names = (alternative: string) => ({ subjectAltName: alternative }) as X509Certificate;
  expect(() => identityOf(names('URI:quotadb://c/eu, URI:quotadb://c/us'))).toThrow(/more than one replica/);
  expect(() => identityOf(names('URI:quotadb://c/eu, URI:quotadb://c/us?relay'))).toThrow(/more than one replica/);
  expect(() => identityOf(names('URI:quotadb://c/eu?relay'))).toThrow(/names no replica/);
  expect(() => identityOf(names('URI:quotadb://c/eu/us'))).toThrow(/names no replica/);
  expect(() => identityOf(names('URI:quotadb://c/%ff'))).toThrow(/names no replica/);
  expect(() => identityOf(names('DNS:"a, URI:quotadb://c/eu"'))).toThrow(/names no replica/);
  expect(() => identityOf({ subjectAltName: undefined } as unknown as X509Certificate)).toThrow(/names no replica/);
});

test('names in quotes are one name, whatever is in them', () => {
  expect(namesOf('DNS:"a, URI:b", URI:quotadb://c/eu, IP Address:10.0.0.1, DNS:x')).toEqual([
    'DNS:a, URI:b',
    'URI:quotadb://c/eu',
    'IP Address:10.0.0.1',
    'DNS:x',
  ]);
});
