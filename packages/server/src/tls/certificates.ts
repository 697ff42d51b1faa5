import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions, type TlsOptions } from 'node:tls';
import type { Configuration } from '@quotadb/config';

/** A server of node:tls or node:https, which can take new certificates while it runs. */
interface CertificateUser {
  setSecureContext(options: SecureContextOptions): void;
}

/** A longer handshake is ended: a silent connection must not hold a place. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** The certificate of this server and the authorities it trusts, from files that may be replaced while it runs. */
export class Certificates {
  private readonly config: Configuration;
  private readonly users: CertificateUser[] = [];
  private loaded: SecureContextOptions;

  /** Throws for files that cannot be used. */
  constructor(config: Configuration) {
    this.config = config;
    this.loaded = load(config);
  }

  static areNeeded({ respTlsPort, httpTls, rlsTls }: Configuration): boolean {
    return respTlsPort !== -1 || httpTls || rlsTls;
  }

  options(): TlsOptions {
    const { tlsClients } = this.config;
    return {
      ...this.loaded,
      requestCert: tlsClients !== 'ignored',
      rejectUnauthorized: tlsClients === 'required',
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    };
  }

  /** For connections that this server makes: the certificate that it shows, and the authorities that it trusts. */
  clientOptions(): SecureContextOptions {
    return this.loaded;
  }

  /** Gives `user` the new certificates after every reload. */
  keepCurrent(user: CertificateUser): void {
    this.users.push(user);
  }

  /** Reads the files again, for new connections; throws, having changed nothing, for files that cannot be used. */
  reload(): void {
    this.loaded = load(this.config);
    for (const user of this.users) user.setSecureContext(this.loaded);
  }
}

function load({ tlsCertificate, tlsKey, tlsAuthority }: Configuration): SecureContextOptions {
  const options: SecureContextOptions = {
    cert: read('--tls-cert', tlsCertificate),
    key: read('--tls-key', tlsKey),
    ...(tlsAuthority !== '' && { ca: read('--tls-ca', tlsAuthority) }),
    minVersion: 'TLSv1.2',
  };
  try {
    createSecureContext(options);
  } catch (error) {
    throw new Error(`--tls-cert and --tls-key: ${(error as Error).message}`);
  }
  return options;
}

function read(flag: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Error(`${flag}: ${(error as Error).message}`);
  }
}
