/**
 * Certificates for tests, made on the spot. Node can read X.509 but not write it, so the few bytes of DER that a
 * certificate needs are put together here (RFC 5280, ECDSA with SHA-256 on P-256).
 *
 *   certificate   SEQUENCE { signed part, algorithm, BIT STRING signature }
 *   signed part   SEQUENCE { [0] version 3, serial, algorithm, issuer, validity, subject, public key, [3] extensions }
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  readonly name: string;
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly key: KeyObject;
}

const Tag = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, set: 0x31, sequence: 0x30, time: 0x17 };
const DNS_NAME = 0x82;

const ECDSA_WITH_SHA256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex');
const ALTERNATIVE_NAMES = Buffer.from('0603551d11', 'hex');
const TRUE = Buffer.from('0101ff', 'hex');

/** An authority that signs itself. */
export function makeAuthority(name: string): Certificate {
  const constraints = sequence(BASIC_CONSTRAINTS, TRUE, der(Tag.octets, sequence(TRUE)));
  return make(name, undefined, constraints);
}

/** A server that goes by one name, vouched for by the authority. */
export function makeServerCertificate(hostName: string, authority: Certificate): Certificate {
  const names = sequence(der(DNS_NAME, Buffer.from(hostName)));
  return make(hostName, authority, sequence(ALTERNATIVE_NAMES, der(Tag.octets, names)));
}

function make(name: string, issuer: Certificate | undefined, extension: Buffer): Certificate {
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed = sequence(
    der(0xa0, der(Tag.integer, Buffer.from([2]))),
    der(Tag.integer, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    sequence(der(Tag.time, Buffer.from('200101000000Z')), der(Tag.time, Buffer.from('491231235959Z'))),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign('sha256', signed, issuer?.key ?? key);
  const whole = sequence(signed, ECDSA_WITH_SHA256, der(Tag.bits, Buffer.from([0]), signature));
  const certificatePem = `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`;
  return { name, certificatePem, keyPem: key.export({ type: 'pkcs8', format: 'pem' }) as string, key };
}

function nameOf(commonName: string): Buffer {
  return sequence(der(Tag.set, sequence(COMMON_NAME, der(Tag.utf8, Buffer.from(commonName)))));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(Tag.sequence, ...parts);
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
