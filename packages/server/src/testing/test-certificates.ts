import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * X.509 certificates for tests, made here so that they need no tool and never run out. DER is tag, length, content:
 *
 *   Certificate ::= { { [0] version, serial, algorithm, issuer, validity, subject, key, [3] extensions },
 *                     algorithm, signature }
 */
const Tag = { integer: 2, bits: 3, octets: 4, oid: 6, text: 12, time: 23, sequence: 48, set: 49 } as const;
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const SUBJECT_ALTERNATIVE_NAME = oid('551d11');
const BASIC_CONSTRAINTS = oid('551d13');

export interface TestIdentity {
  readonly certificate: string;
  readonly key: string;
  readonly privateKey: KeyObject;
  readonly name: string;
}

/** A certificate that is signed with its own key. */
export function createAuthority(name: string): TestIdentity {
  return issue(name, undefined);
}

/** A certificate for `localhost` and 127.0.0.1. */
export function issueCertificate(authority: TestIdentity, name: string): TestIdentity {
  return issue(name, authority);
}

export interface CertificateFiles {
  readonly directory: string;
  /** Writes both files of an identity and returns their paths. */
  write(name: string, identity: TestIdentity): Promise<{ certificate: string; key: string }>;
  remove(): Promise<void>;
}

export async function certificateFiles(): Promise<CertificateFiles> {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-tls-'));
  return {
    directory,
    async write(name, identity) {
      const paths = { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
      await writeFile(paths.certificate, identity.certificate);
      await writeFile(paths.key, identity.key, { mode: 0o600 });
      return paths;
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

function issue(name: string, authority: TestIdentity | undefined): TestIdentity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extension =
    authority === undefined
      ? sequence(BASIC_CONSTRAINTS, der(1, Buffer.of(255)), der(Tag.octets, sequence(der(1, Buffer.of(255)))))
      : sequence(
          SUBJECT_ALTERNATIVE_NAME,
          der(Tag.octets, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))),
        );
  const toBeSigned = sequence(
    der(0xa0, der(Tag.integer, Buffer.of(2))),
    der(Tag.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    distinguishedName(authority?.name ?? name),
    sequence(der(Tag.time, Buffer.from('200101000000Z')), der(Tag.time, Buffer.from('491231235959Z'))),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign('sha256', toBeSigned, authority?.privateKey ?? privateKey);
  const certificate = sequence(toBeSigned, ECDSA_WITH_SHA256, der(Tag.bits, Buffer.concat([Buffer.of(0), signature])));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    name,
    privateKey,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function distinguishedName(name: string): Buffer {
  return sequence(der(Tag.set, sequence(COMMON_NAME, der(Tag.text, Buffer.from(name)))));
}

function oid(hexadecimal: string): Buffer {
  return der(Tag.oid, Buffer.from(hexadecimal, 'hex'));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(Tag.sequence, Buffer.concat(parts));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.of(tag, length), content]);
  // The shortest form: Bun and Deno take no other.
  if (length < 256) return Buffer.concat([Buffer.of(tag, 0x81, length), content]);
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 255), content]);
}
