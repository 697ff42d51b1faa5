import { X509Certificate } from 'node:crypto';
import { FileWatch } from '@quotadb/wire/files';
import { identityOf, type PeerIdentity } from './peer-identity.js';
import { PemFiles } from './pem-files.js';

/** What a replica needs for TLS: its certificate, the key of it, and the authority whose certificates it accepts. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
  /** The replica that the own certificate names. */
  readonly identity: PeerIdentity;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/** The own certificate, key or authority cannot be used. The message names the file. */
export class TlsMaterialError extends Error {
  override readonly name = 'TlsMaterialError';
}

/**
 * Reads and checks the files; throws TlsMaterialError. The file of the authority may hold several, to change from one
 * to the next.
 */
export async function loadTlsMaterial(
  { certFile, keyFile, caFile }: TlsFiles,
  nowMs: number = Date.now(),
): Promise<TlsMaterial> {
  const [certificate, key, authority] = await Promise.all([certFile, keyFile, caFile].map((file) => pem.read(file)));
  const own = pem.certificate(certificate, certFile);
  const authorities = pem.attempt(() => authoritiesOf(authority), `${caFile} is not a certificate in PEM`);
  pem.checkKey(key, keyFile, own, certFile);
  if (authorities.some(({ ca }) => !ca)) throw new TlsMaterialError(`${caFile} is not the certificate of an authority`);
  const issuer = authorities.find((ca) => own.checkIssued(ca) && own.verify(ca.publicKey));
  if (issuer === undefined) throw new TlsMaterialError(`${certFile} was not issued by the authority in ${caFile}`);
  checkTimes(own, certFile, nowMs);
  checkTimes(issuer, caFile, nowMs);
  return { certificate, key, authority, identity: pem.attempt(() => identityOf(own), certFile) };
}

/** The certificates in the file of the authority. */
export function authoritiesOf(authority: string): X509Certificate[] {
  return (authority.match(PEM_CERTIFICATE) ?? [authority]).map((text) => new X509Certificate(text));
}

const pem = new PemFiles(TlsMaterialError);
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function checkTimes({ validFrom, validTo }: X509Certificate, file: string, nowMs: number): void {
  if (nowMs < Date.parse(validFrom)) throw new TlsMaterialError(`${file} is not valid before ${validFrom}`);
  if (nowMs > Date.parse(validTo)) throw new TlsMaterialError(`${file} has expired: it was valid until ${validTo}`);
}

export interface TlsWatch {
  readonly intervalMs: number;
  /** New material, whole and checked. */
  onChange(material: TlsMaterial): void;
  /** The files have changed and cannot be used. The old material stays in use; called once for each change. */
  onError(error: TlsMaterialError): void;
}

/** Loads the files when one has changed. Returns a function that stops it. */
export function watchTlsMaterial(files: TlsFiles, current: TlsMaterial, watch: TlsWatch): () => void {
  let known = current;
  const changed = async () => {
    try {
      const material = await loadTlsMaterial(files);
      if (isSameMaterial(material, known)) return;
      known = material;
      watch.onChange(material);
    } catch (error) {
      if (!(error instanceof TlsMaterialError)) throw error;
      watch.onError(error);
    }
  };
  const paths = () => [files.certFile, files.keyFile, files.caFile];
  const fileWatch = new FileWatch({ intervalMs: watch.intervalMs, paths, changed });
  fileWatch.start();
  return () => fileWatch.stop();
}

function isSameMaterial(one: TlsMaterial, other: TlsMaterial): boolean {
  return one.certificate === other.certificate && one.key === other.key && one.authority === other.authority;
}

/** What both sides of a connection, and a reload, need. */
export function tlsContext({ certificate, key, authority }: TlsMaterial) {
  return { cert: certificate, key, ca: authority, minVersion: 'TLSv1.3' } as const;
}

/** HTTP/2, and nothing older. */
export const ALPN_PROTOCOLS: string[] = ['h2'];
