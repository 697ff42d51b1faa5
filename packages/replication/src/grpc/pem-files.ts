import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Reads files of certificates and keys; errors are of the given class and name the file. */
export class PemFiles {
  private readonly Failure: new (
    message: string,
  ) => Error;
  /** Added to the error where a file does not exist. */
  private readonly missingHint: string;

  constructor(Failure: new (message: string) => Error, missingHint = '') {
    this.Failure = Failure;
    this.missingHint = missingHint;
  }

  async read(file: string): Promise<string> {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      const hint = (error as NodeJS.ErrnoException).code === 'ENOENT' ? this.missingHint : '';
      throw new this.Failure(`cannot read ${file}: ${(error as Error).message}${hint}`);
    }
  }

  certificate(pem: string, file: string): X509Certificate {
    return this.attempt(() => new X509Certificate(pem), `${file} is not a certificate in PEM`);
  }

  checkKey(key: string, keyFile: string, certificate: X509Certificate, certFile: string): void {
    const privateKey = this.attempt(() => createPrivateKey(key), `${keyFile} is not a private key in PEM`);
    if (!certificate.checkPrivateKey(privateKey)) throw new this.Failure(`${keyFile} is not the key of ${certFile}`);
  }

  attempt<T>(make: () => T, what: string): T {
    try {
      return make();
    } catch (error) {
      throw new this.Failure(`${what}: ${(error as Error).message}`);
    }
  }
}
