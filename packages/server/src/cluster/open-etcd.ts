import { readFileSync } from 'node:fs';
import type { SecureContextOptions } from 'node:tls';
import { EtcdMapStore, type EtcdMapStoreOptions } from '@quotadb/cluster/etcd';
import type { Configuration } from '@quotadb/config';

export interface OpenEtcd {
  readonly store: EtcdMapStore;
  /** Reads the certificates again; throws, having changed nothing, for files that cannot be read. */
  reload(): void;
}

/** The store of the map by the settings of --etcd. Throws for certificates that cannot be read. */
export function openEtcd(
  config: Configuration,
  observer: Pick<EtcdMapStoreOptions, 'troubled' | 'refused'> = {},
): OpenEtcd {
  let tls = readFiles(config);
  const store = new EtcdMapStore({
    urls: config.etcdUrls,
    prefix: config.etcdPrefix,
    user: config.etcdUser,
    password: config.etcdPassword,
    leaseSeconds: config.etcdLeaseSeconds,
    tls: () => tls,
    ...observer,
  });
  return {
    store,
    reload() {
      tls = readFiles(config);
    },
  };
}

function readFiles({ etcdAuthority, etcdCertificate, etcdKey }: Configuration): SecureContextOptions {
  return {
    ...(etcdAuthority !== '' && { ca: read('--etcd-ca', etcdAuthority) }),
    ...(etcdCertificate !== '' && { cert: read('--etcd-cert', etcdCertificate), key: read('--etcd-key', etcdKey) }),
  };
}

function read(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${flag}: ${(error as Error).message}`);
  }
}
