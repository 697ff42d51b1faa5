import type { ConfigurationScope } from './load.js';
import type { Configuration } from './table.js';

/** Of settings that other programs than the server have too. */
export function checkEtcd(configuration: Configuration): string[] {
  const { etcdUrls, etcdUser, etcdPassword, etcdAuthority, etcdCertificate, etcdKey } = configuration;
  const mistakes: string[] = [];
  const isSecure = etcdUrls.some((url) => url.startsWith('https:'));
  if ((etcdUser === '') !== (etcdPassword === ''))
    mistakes.push('--etcd-user: it and --etcd-password (or QUOTADB_ETCD_PASSWORD) belong together: give both');
  if ((etcdCertificate === '') !== (etcdKey === ''))
    mistakes.push('--etcd-cert: it and --etcd-key belong together: give both');
  if (etcdUrls.length > 0 && !isSecure && (etcdAuthority !== '' || etcdCertificate !== ''))
    mistakes.push('--etcd-ca, --etcd-cert: no URL of --etcd begins with https://');
  return mistakes;
}

/** `quotadb cluster`: the settings by which it finds the map. */
export const clusterTool: ConfigurationScope = {
  names: ['etcdUrls', 'etcdPrefix', 'etcdUser', 'etcdPassword', 'etcdAuthority', 'etcdCertificate', 'etcdKey'],
  check: (configuration) => [
    ...(configuration.etcdUrls.length > 0
      ? []
      : ['--etcd: give the URL of the etcd that has the map (or QUOTADB_ETCD)']),
    ...checkEtcd(configuration),
  ],
};
