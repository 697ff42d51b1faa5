import { duration } from '../kinds/duration.js';
import { choice, pemFile, text, urls } from '../kinds/kinds.js';
import { setting } from './setting.js';

/** Settings of groups that own slots. */
export const clusterSettings = {
  clusterMapFile: setting({
    flag: 'cluster-map',
    kind: text('file', /^[^\0]*$/, 'the path of a YAML or JSON file'),
    default: '',
    help:
      'the map of slots, groups and members, YAML or JSON (docs/cluster.md), read at the start, when it changes and ' +
      'on SIGHUP; one with mistakes is logged and the map stays as it is; empty for none: all keys are here',
  }),
  etcdUrls: setting({
    flag: 'etcd',
    kind: urls(),
    default: [] as readonly string[],
    help:
      'the members of the etcd that has the map, in place of --cluster-map (docs/cluster.md); may be given several ' +
      'times, or with commas',
  }),
  etcdPrefix: setting({
    flag: 'etcd-prefix',
    kind: text(
      'prefix',
      /^(?:\/[\w.-]{1,64}){1,8}$/,
      'names of letters, digits, "_", "." and "-", each behind a slash',
    ),
    default: '/quotadb',
    help: 'what the keys of this cluster in etcd begin with',
  }),
  etcdUser: setting({
    flag: 'etcd-user',
    kind: text('name', /^\S*$/, 'the name of a user of etcd; empty for none'),
    default: '',
    help: 'the user that etcd knows this server by',
  }),
  etcdPassword: setting({
    flag: 'etcd-password',
    kind: text('password', /^.*$/s, 'any text'),
    default: '',
    help: 'the password of --etcd-user; QUOTADB_ETCD_PASSWORD keeps it out of the list of processes',
    secret: true,
  }),
  etcdAuthority: setting({
    flag: 'etcd-ca',
    kind: pemFile(),
    default: '',
    help:
      "the authorities that etcd's certificate is checked against; empty for those of the system; " +
      'read again on SIGHUP',
  }),
  etcdCertificate: setting({
    flag: 'etcd-cert',
    kind: pemFile(),
    default: '',
    help: 'the certificate that this server shows to etcd; read again on SIGHUP',
  }),
  etcdKey: setting({
    flag: 'etcd-key',
    kind: pemFile(),
    default: '',
    help: 'the private key of --etcd-cert; read again with it',
  }),
  etcdLeaseSeconds: setting({
    flag: 'etcd-lease',
    kind: duration('seconds', 2, 300),
    default: 10,
    help: 'how long etcd waits for a server that says nothing, before it is away for the others',
  }),
  group: setting({
    flag: 'group',
    kind: text('name', /^(?:[a-z0-9-]{1,32})?$/, '1 to 32 of a-z, 0-9 and -; empty for none'),
    default: '',
    help: 'the group of the cluster map that this server is a member of, with its --region and --member',
  }),
  clusterForward: setting({
    flag: 'cluster-forward',
    kind: choice('when', ['yes', 'no']),
    default: 'yes',
    help:
      'carry commands of clients without cluster support to the group that owns their keys; no redirects every ' +
      'client, as Redis Cluster does',
  }),
  clusterUser: setting({
    flag: 'cluster-user',
    kind: text('name', /^\S*$/, 'the name of a user; empty for the default user'),
    default: '',
    help: 'the user that this server logs in as at other groups, which has to be allowed all that clients are',
  }),
  clusterPassword: setting({
    flag: 'cluster-password',
    kind: text('password', /^.*$/s, 'any text; empty for that of --password'),
    default: '',
    help: 'the password of --cluster-user; QUOTADB_CLUSTER_PASSWORD keeps it out of the list of processes',
    secret: true,
  }),
};
