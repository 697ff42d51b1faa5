import { access, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { PemFiles } from '../grpc/pem-files.js';
import { type CertificateAndKey, clusterOf, issueCertificate, makeAuthority, validityOf } from './certificates.js';

/**
 * A directory of certificates:
 *
 *   file       | what                                          | who needs it
 *   -----------|-----------------------------------------------|---------------------------------------------
 *   ca.crt     | the certificate of the authority              | every replica (--repl-ca)
 *   ca.key     | its key: it can make a certificate for any region | `certs issue` only; keep it elsewhere
 *   NAME.crt   | the certificate of a replica: us.crt, or us.a.crt for the member a | that replica (--repl-cert)
 *   NAME.key   | its key                                       | that replica (--repl-key)
 *
 * Keys can be read by their owner only. Nothing is ever written over.
 */
export const AUTHORITY = 'ca';

/** Certificates cannot be made as asked; the message says why. */
export class CertificatesError extends Error {
  override readonly name = 'CertificatesError';
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export function filesOf(directory: string, name: string): CertificateFiles {
  // A region has no dot in its name, so no two servers have the same files.
  const file = name.replace('/', '.');
  return { certFile: join(directory, `${file}.crt`), keyFile: join(directory, `${file}.key`) };
}

export async function initDirectory(directory: string, cluster: string, days: number): Promise<CertificateFiles> {
  const files = filesOf(directory, AUTHORITY);
  await expectFree(files);
  await writePair(directory, files, await makeAuthority(cluster, validityOf(days)));
  return files;
}

export interface IssueRequest {
  /** Where the authority is. */
  readonly directory: string;
  /** Where the new files go. */
  readonly out: string;
  readonly region: string;
  readonly hosts: readonly string[];
  readonly mayRelay: boolean;
  readonly days: number;
}

export async function issueInto(request: IssueRequest): Promise<CertificateFiles> {
  const { directory, out, region, hosts, mayRelay, days } = request;
  if (region === AUTHORITY)
    throw new CertificatesError(`a region cannot be called "${AUTHORITY}": its files would be the authority's`);
  const files = filesOf(out, region);
  await expectFree(files);
  const authority = await readAuthority(directory);
  const cluster = clusterOf(authority.certificate);
  if (cluster === undefined) {
    throw new CertificatesError(
      `${filesOf(directory, AUTHORITY).certFile} was not made by "quotadb certs init": it names no cluster`,
    );
  }
  const identity = { cluster, region, mayRelay };
  await writePair(out, files, await issueCertificate({ authority, identity, hosts, validity: validityOf(days) }));
  return files;
}

async function readAuthority(directory: string): Promise<CertificateAndKey> {
  const { certFile, keyFile } = filesOf(directory, AUTHORITY);
  const pem = new PemFiles(CertificatesError, '; "quotadb certs init" makes an authority');
  // One after the other: where both are missing, the error always names the certificate.
  const certificate = await pem.read(certFile);
  const key = await pem.read(keyFile);
  pem.checkKey(key, keyFile, pem.certificate(certificate, certFile), certFile);
  return { certificate, key };
}

async function expectFree({ certFile, keyFile }: CertificateFiles): Promise<void> {
  for (const file of [certFile, keyFile]) {
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    if (isThere)
      throw new CertificatesError(
        `${file} is there already, and is not written over: move it away, or choose another directory`,
      );
  }
}

async function writePair(directory: string, files: CertificateFiles, pair: CertificateAndKey): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeNew(files.keyFile, pair.key, 0o600);
    try {
      await writeNew(files.certFile, pair.certificate, 0o644);
    } catch (error) {
      await unlink(files.keyFile);
      throw error;
    }
  } catch (error) {
    throw new CertificatesError(`cannot write to ${directory}: ${(error as Error).message}`);
  }
}

/** Sets the mode apart from the umask: a key that other users can read is no secret. */
async function writeNew(file: string, text: string, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.chmod(mode);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
