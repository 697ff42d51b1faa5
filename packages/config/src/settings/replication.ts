import { duration } from '../kinds/duration.js';
import { integer, peerAddresses, pemFile, text, yesOrNo } from '../kinds/kinds.js';
import type { PeerAddress } from '../kinds/peer-address.js';
import { MAXIMUM_INT32, setting } from './setting.js';

/** Settings of replication between regions. */
export const replicationSettings = {
  cluster: setting({
    flag: 'cluster',
    kind: text('name', /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, '1 to 64 of letters, digits, ".", "_" and "-"'),
    default: 'quotadb',
    help: 'the name of the cluster; regions of other clusters are refused',
  }),
  replicationPort: setting({
    flag: 'repl',
    kind: integer('port', -1, 65_535),
    default: 7380,
    help: 'the port where other regions connect; 0 picks a free one, -1 for none. Idle until the first peer',
  }),
  replicationHost: setting({
    flag: 'repl-host',
    kind: text('address', /^\S+$/, 'a host name or an IP address'),
    default: '127.0.0.1',
    help: 'the address to listen on for other regions; one that other machines can reach needs certificates',
  }),
  peers: setting({
    flag: 'peer',
    kind: peerAddresses(),
    default: [] as readonly PeerAddress[],
    help: 'another region and its address; may be given several times',
  }),
  mesh: setting({
    flag: 'mesh',
    kind: peerAddresses(),
    default: [] as readonly PeerAddress[],
    help:
      'every region of the cluster and its address, this one included: the same line for all of them, in place of ' +
      '--peer; may be given several times',
  }),
  replicationCertificate: setting({
    flag: 'repl-cert',
    kind: pemFile('; empty for none'),
    default: '',
    help: 'the certificate of this region for replication (quotadb certs issue); read again when it changes',
  }),
  replicationKey: setting({
    flag: 'repl-key',
    kind: pemFile('; empty for none'),
    default: '',
    help: 'the private key of that certificate',
  }),
  replicationAuthority: setting({
    flag: 'repl-ca',
    kind: pemFile('; empty for none'),
    default: '',
    help: 'the authority that signed the certificates of all regions',
  }),
  replicationPlaintext: setting({
    flag: 'repl-plaintext',
    kind: yesOrNo(),
    default: false,
    help:
      'replicate without TLS beyond this machine, and on it where there is any credential: any client that reaches ' +
      'the port can change every counter',
  }),
  replicationIntervalMs: setting({
    flag: 'repl-interval',
    kind: duration('milliseconds', 1, 1000),
    default: 10,
    help: 'how long changes are collected before they are sent to other regions',
  }),
  replicateBeforeReply: setting({
    flag: 'replicate-before-reply',
    kind: integer('servers', 0, 16),
    default: 0,
    help:
      'a reply to a change waits until this many other servers hold it, so that the loss of a machine loses nothing ' +
      'that was acknowledged; 0 is off. The same on all servers',
  }),
  replicateTimeoutMs: setting({
    flag: 'replicate-timeout',
    kind: duration('milliseconds', 10, 600_000),
    default: 5000,
    help:
      'with --replicate-before-reply: how long such a reply waits; then it is the error NOREPLICAS and the ' +
      'connection is closed, while the change stays and is sent later',
  }),
  clockSkewBoundMs: setting({
    flag: 'clock-skew-bound',
    kind: duration('milliseconds', 0, 3_600_000),
    default: 120_000,
    help:
      'maximum difference of the clocks of regions: expired keys are kept this long for late changes, a larger ' +
      'difference is logged, and changes dated further ahead than twice this and a minute are not applied',
  }),
  peerPatienceSeconds: setting({
    flag: 'peer-patience',
    kind: duration('seconds', 1, MAXIMUM_INT32),
    default: 3600,
    help:
      'how long deleted keys are kept for a region that is away, before garbage collection; the region is repaired ' +
      'when it is back',
  }),
};
