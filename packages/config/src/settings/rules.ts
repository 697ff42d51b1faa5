import { isLoopbackHost } from '@quotadb/replication/plaintext';
import { serverName } from '@quotadb/wire';
import { mayReplicateInPlaintext } from '../access/doors.js';
import { DEFAULT_USER } from '../access/user.js';
import { checkEtcd } from './cluster-tool.js';
import { type Configuration, peersOf } from './table.js';

/** All feeds are read in every interval. */
const MAXIMUM_FEEDS = 10_000;
const HEADER = /^[\w!#$%&'*+.^`|~-]+=[\x20-\x7e]*$/;

/** The mistakes of settings that do not fit together. */
export function checkTogether(configuration: Configuration): string[] {
  const mistakes: string[] = [];
  const check = (isMistake: boolean, text: string): void => {
    if (isMistake) mistakes.push(text);
  };
  const { memory, dataDirectory, keepIncarnation, host, password, users } = configuration;
  const { respPort, respTlsPort, httpPort, internalHttpPort } = configuration;
  check(memory && dataDirectory !== '', '--memory: --data is given too: choose one');
  check(keepIncarnation && dataDirectory === '', '--keep-incarnation: needs a --data directory with a backup');
  check(
    !isLoopbackHost(host) && password === '' && users.size === 0,
    `--host: ${host} can be reached from other machines: give a --password (or QUOTADB_PASSWORD) or users too`,
  );
  check(
    password !== '' && users.has(DEFAULT_USER),
    `--password: it is that of the user "${DEFAULT_USER}", which --users has too: choose one`,
  );
  check(respPort !== 0 && respPort === httpPort, `--http: port ${httpPort} is already taken by --resp`);
  check(
    internalHttpPort > 0 && (internalHttpPort === respPort || internalHttpPort === httpPort),
    `--internal-http: port ${internalHttpPort} is already taken by --resp or --http`,
  );
  check(
    respTlsPort > 0 && [respPort, httpPort, internalHttpPort].includes(respTlsPort),
    `--resp-tls: port ${respTlsPort} is already taken by --resp, --http or --internal-http`,
  );
  check(respPort === -1 && respTlsPort === -1, '--resp: without it there must be --resp-tls');
  const { tlsCertificate, tlsKey, tlsClients, tlsAuthority, rlsPort, rlsTls, envoyDirectory } = configuration;
  check(
    (respTlsPort !== -1 || configuration.httpTls || rlsTls) && (tlsCertificate === '' || tlsKey === ''),
    '--tls-cert, --tls-key: --resp-tls, --http-tls and --rls-tls need both',
  );
  check(
    rlsPort > 0 && [respPort, httpPort, internalHttpPort, respTlsPort].includes(rlsPort),
    `--rls: port ${rlsPort} is already taken by --resp, --http, --internal-http or --resp-tls`,
  );
  check(rlsPort !== -1 && envoyDirectory === '', '--rls: needs --envoy-config, the directory with its limits');
  check(rlsPort === -1 && envoyDirectory !== '', '--envoy-config: needs --rls, the port that its limits are served at');
  check(rlsPort === -1 && rlsTls, '--rls-tls: needs --rls');
  check(
    tlsClients === 'required' && tlsAuthority === '',
    '--tls-clients: certificates can only be required with a --tls-ca to check them against',
  );
  const { usageExport, usageExportHeaders } = configuration;
  check(
    usageExport !== '' && dataDirectory === '',
    '--usage-export: needs --data: usage that is only in memory is lost with the process',
  );
  check(
    /^https?:\/\/[^/]*@/i.test(usageExport),
    '--usage-export: an address has no user and password: give them with --usage-export-header',
  );
  check(!usageExportHeaders.every((header) => HEADER.test(header)), '--usage-export-header: a header is name=value');
  const { countsTokens, countsInternalTokens, feeds, otlpHeaders } = configuration;
  check(
    countsTokens.some((token) => countsInternalTokens.includes(token)),
    '--counts-internal-token: must differ from every --counts-token',
  );
  check(feeds.length > MAXIMUM_FEEDS, `--feed: there may be at most ${MAXIMUM_FEEDS}`);
  check(!otlpHeaders.every((header) => HEADER.test(header)), '--otlp-header: a header is name=value');
  mistakes.push(...checkReplication(configuration), ...checkCluster(configuration));
  return mistakes;
}

/** Whether this server is one of a cluster, whose map is in a file or in etcd. */
export function hasClusterMap({ clusterMapFile, etcdUrls }: Configuration): boolean {
  return clusterMapFile !== '' || etcdUrls.length > 0;
}

function checkCluster(configuration: Configuration): string[] {
  const { clusterMapFile, etcdUrls, group, databases, clusterForward, clusterUser, clusterPassword } = configuration;
  const { password, users } = configuration;
  const mistakes: string[] = [];
  const hasMap = hasClusterMap(configuration);
  const flag = etcdUrls.length > 0 ? '--etcd' : '--cluster-map';
  if (clusterMapFile !== '' && etcdUrls.length > 0)
    mistakes.push('--etcd: --cluster-map is given too, and the map is in one place: choose one');
  if (hasMap && group === '') mistakes.push(`${flag}: needs --group, the group of the map that this server is in`);
  if (!hasMap && group !== '')
    mistakes.push('--group: needs --cluster-map or --etcd, where the map is that has the group');
  if (hasMap && databases > 1)
    mistakes.push(`--databases: a cluster has one, as Redis Cluster has: leave it out, or ${flag}`);
  if (hasMap && clusterForward === 'no' && configuration.rlsPort !== -1)
    mistakes.push('--rls: with --cluster-forward no, limits of other groups cannot be decided: leave that out');
  if (clusterUser !== '' && clusterPassword === '')
    mistakes.push('--cluster-user: needs --cluster-password (or QUOTADB_CLUSTER_PASSWORD)');
  const canLogIn = clusterPassword !== '' || password !== '' || users.size === 0;
  if (hasMap && clusterForward === 'yes' && !canLogIn)
    mistakes.push(
      '--cluster-forward: there are users, and this server has to log in at other groups: give --cluster-user and ' +
        '--cluster-password, or --cluster-forward no',
    );
  return [...mistakes, ...checkEtcd(configuration)];
}

/** Whether replication has certificates. */
export function hasCertificates(configuration: Configuration): boolean {
  return configuration.replicationCertificate !== '';
}

function checkReplication(configuration: Configuration): string[] {
  const { mesh, replicationPort, replicationHost, replicationPlaintext } = configuration;
  const { replicationCertificate, replicationKey, replicationAuthority } = configuration;
  const peers = peersOf(configuration);
  const name = serverName(configuration);
  const mistakes: string[] = [];
  if (mesh.length > 0 && !mesh.some((other) => other.region === name)) {
    const names = mesh.map((other) => other.region).join(', ');
    const flags = name === configuration.region ? '--region' : '--region, --member';
    mistakes.push(`--mesh: it has ${names}, and this server is ${name} (${flags}): add it, or give --peer instead`);
  }
  const files = [replicationCertificate, replicationKey, replicationAuthority];
  const hasAll = files.every((file) => file !== '');
  if (!hasAll && files.some((file) => file !== '')) {
    mistakes.push('--repl-cert: --repl-cert, --repl-key and --repl-ca belong together: give all three');
  }
  const isOpen = hasAll || replicationPlaintext;
  if (replicationPort !== -1 && !isLoopbackHost(replicationHost) && !isOpen) {
    mistakes.push(`--repl-host: ${replicationHost} can be reached from other machines: ${NEEDS_CERTIFICATES}`);
  }
  if (peers.length > 0 && !hasAll && !mayReplicateInPlaintext(configuration)) {
    mistakes.push(
      `--peer: there are credentials, and replication without certificates asks for none: ${NEEDS_CERTIFICATES}`,
    );
  }
  for (const peer of peers) {
    if (peer.region === name) mistakes.push(`--peer: ${name} is the name of this server itself (--region, --member)`);
    if (peers.find((other) => other.region === peer.region) !== peer)
      mistakes.push(`--peer: ${peer.region} is given twice`);
    if (!isLoopbackHost(peer.host) && !isOpen) {
      mistakes.push(`--peer: ${peer.region} is not on this machine: ${NEEDS_CERTIFICATES}`);
    }
  }
  const { respPort, httpPort, internalHttpPort, rlsPort } = configuration;
  if (replicationPort > 0 && [respPort, httpPort, internalHttpPort, rlsPort].includes(replicationPort)) {
    mistakes.push(`--repl: port ${replicationPort} is already taken by --resp, --http, --internal-http or --rls`);
  }
  return mistakes;
}

const NEEDS_CERTIFICATES =
  'give --repl-cert, --repl-key and --repl-ca (quotadb certs makes them), or say --repl-plaintext';
