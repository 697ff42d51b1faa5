import type { PartialDefinition } from '@quotadb/quota';
import type { FsyncMode } from '@quotadb/storage';
import {
  choice,
  type Feed,
  feeds,
  fsyncMode,
  integer,
  type Kind,
  list,
  outputLimit,
  peerAddresses,
  port,
  powerOfTwo,
  quotaDefinitions,
  size,
  text,
  yesOrNo,
} from './kinds.js';
import { type PeerAddress, REGION_NAME } from './peer-address.js';
import type { Users } from './user.js';
import { users } from './users-kind.js';

/**
 * Every setting, once. The flag is `--max-memory`, its environment variable QUOTADB_MAX_MEMORY, its key in the config
 * file "max-memory"; help, docs/configuration.md and CONFIG GET and SET come from here too.
 */
export interface Setting<Value> {
  readonly flag: string;
  readonly kind: Kind<Value>;
  readonly default: Value;
  readonly help: string;
  /** What CONFIG GET and SET call it; left out where Redis has no such parameter. */
  readonly parameter?: string;
  /** Whether CONFIG SET may change it while the server runs. */
  readonly changeable?: boolean;
  /** Left out of what is shown to people. */
  readonly secret?: boolean;
  /** An environment variable that others have agreed on; ours wins over it. */
  readonly standardVariable?: string;
}

const MAXIMUM_INT32 = 2_147_483_647;
const KIBIBYTE = 1024;
const MEBIBYTE = KIBIBYTE * KIBIBYTE;
const GIBIBYTE = KIBIBYTE * MEBIBYTE;

/** As many as Redis allows by default; each costs a file descriptor and about 10 KB. */
const DEFAULT_MAXIMUM_CLIENTS = 10_000;

export const settings = {
  region: setting({
    flag: 'region',
    kind: text('name', REGION_NAME, '1 to 32 of a-z, 0-9 and -'),
    default: 'local',
    help: 'the name of this region',
  }),
  host: setting({
    flag: 'host',
    kind: text('address', /^\S+$/, 'a host name or an IP address'),
    default: '127.0.0.1',
    help: 'the address to listen on; one that other machines can reach needs a password',
    parameter: 'bind',
  }),
  respPort: setting({
    flag: 'resp',
    kind: integer('port', -1, 65_535),
    default: 6380,
    help: 'the port for Redis clients; 0 picks a free one, -1 is for none, with --resp-tls alone',
    parameter: 'port',
  }),
  httpPort: setting({
    flag: 'http',
    kind: port(),
    default: 8380,
    help: 'the port for HTTP: counts, windows and rate limits, /healthz and /readyz',
  }),
  internalHttpPort: setting({
    flag: 'internal-http',
    kind: integer('port', -1, 65_535),
    default: -1,
    help: 'a port of its own for the internal part of the counts API, which --http then no longer has; -1 for none, 0 picks a free one',
  }),
  postgresUrl: setting({
    flag: 'postgres',
    kind: text('url', /^(?:postgres(?:ql)?:\/\/.*)?$/s, 'postgresql://user:password@host:port/database?sslmode=…'),
    default: '',
    help: 'the PostgreSQL that keeps the counts; without one, an embedded one is started when the counts API is first used, and kept as long as everything else',
    secret: true,
  }),
  postgresStatements: setting({
    flag: 'postgres-statements',
    kind: integer('count', 1, 32),
    default: 2,
    help: 'statements with changes of counts in flight at once, each on a connection of its own',
  }),
  postgresConnections: setting({
    flag: 'postgres-connections',
    kind: integer('count', 1, 100),
    default: 4,
    help: 'further connections, for reading, creating and deleting counts',
  }),
  countsTokens: setting({
    flag: 'counts-token',
    kind: list('token', 'any text without commas; may be given several times'),
    default: [] as readonly string[],
    help: 'who may change counts, and count in windows and against limits: "Authorization: Bearer …"; needed where other machines can reach the port',
    secret: true,
  }),
  countsInternalTokens: setting({
    flag: 'counts-internal-token',
    kind: list('token', 'any text without commas; may be given several times'),
    default: [] as readonly string[],
    help: 'who may create, read, set and delete counts, in the same way',
    secret: true,
  }),
  idempotencyWindowHours: setting({
    flag: 'idempotency-window',
    kind: integer('hours', 1, 720),
    default: 24,
    help: 'how long an Idempotency-Key of the counts API is remembered',
  }),
  feeds: setting({
    flag: 'feed',
    kind: feeds(),
    default: [] as readonly Feed[],
    help: 'counts that are fed by counters of this server: what regions add to the key goes to the count, exactly once',
  }),
  feedIntervalMs: setting({
    flag: 'feed-interval',
    kind: integer('milliseconds', 10, 3_600_000),
    default: 1_000,
    help: 'how often counters that feed a count are looked at',
  }),
  dataDirectory: setting({
    flag: 'data',
    kind: text('directory', /^[^\0]*$/, 'the path of a directory; empty for none'),
    default: '',
    help: 'keep data on disk in this directory, which is made if it is not there; without it everything is in memory. With peers, rate counts below the publish threshold and GCRA buckets stay in memory',
    parameter: 'dir',
  }),
  memory: setting({
    flag: 'memory',
    kind: yesOrNo(),
    default: false,
    help: 'keep everything in memory, nothing on disk; what happens without --data anyway, said aloud',
  }),
  fsync: setting({
    flag: 'fsync',
    kind: fsyncMode(),
    default: 100 as FsyncMode,
    help: 'when changes are on disk: "always" before they are acknowledged, so many milliseconds later, or "never" by us',
  }),
  snapshotLogBytes: setting({
    flag: 'snapshot-log-size',
    kind: size(MEBIBYTE, 1024 * GIBIBYTE),
    default: 64 * MEBIBYTE,
    help: 'take a snapshot when the log has grown past this, and past the size of the last snapshot',
    parameter: 'auto-aof-rewrite-min-size',
  }),
  keepIncarnation: setting({
    flag: 'keep-incarnation',
    kind: yesOrNo(),
    default: false,
    help: '--data is a backup, and the server it was taken of is gone for good: go on as the same one',
  }),
  cluster: setting({
    flag: 'cluster',
    kind: text('name', /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, '1 to 64 of letters, digits, ".", "_" and "-"'),
    default: 'quotadb',
    help: 'the name of the cluster; regions of another one are refused',
  }),
  replicationPort: setting({
    flag: 'repl',
    kind: integer('port', -1, 65_535),
    default: 7380,
    help: 'the port where other regions connect; 0 picks a free one, -1 for none. Costs nothing before the first one comes',
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
    help: 'another region and where it is; may be given several times',
  }),
  replicationCertificate: setting({
    flag: 'repl-cert',
    kind: text('file', /^[^\0]*$/, 'the path of a PEM file; empty for none'),
    default: '',
    help: 'the certificate of this region for replication (quotadb certs issue); read again when it changes',
  }),
  replicationKey: setting({
    flag: 'repl-key',
    kind: text('file', /^[^\0]*$/, 'the path of a PEM file; empty for none'),
    default: '',
    help: 'the private key of that certificate',
  }),
  replicationAuthority: setting({
    flag: 'repl-ca',
    kind: text('file', /^[^\0]*$/, 'the path of a PEM file; empty for none'),
    default: '',
    help: 'the authority that has signed the certificates of all regions',
  }),
  replicationPlaintext: setting({
    flag: 'repl-plaintext',
    kind: yesOrNo(),
    default: false,
    help: 'replicate without TLS beyond this machine too: whoever reaches the port can change every counter',
  }),
  replicationIntervalMs: setting({
    flag: 'repl-interval',
    kind: integer('milliseconds', 1, 1000),
    default: 10,
    help: 'how long changes are gathered before they are sent to other regions',
  }),
  clockSkewBoundMs: setting({
    flag: 'clock-skew-bound',
    kind: integer('milliseconds', 0, 3_600_000),
    default: 120_000,
    help: 'how far the clocks of regions may differ: what has expired is kept so long for latecomers, and more is reported',
  }),
  peerPatienceSeconds: setting({
    flag: 'peer-patience',
    kind: integer('seconds', 1, MAXIMUM_INT32),
    default: 3600,
    help: 'how long a region that is away is waited for before what was deleted is forgotten; it is repaired when it is back',
  }),
  ratePublishPercent: setting({
    flag: 'rate-publish-threshold',
    kind: integer('percent', 0, 100),
    default: 20,
    help: 'other regions are told what is counted against a rate limit once it has reached this part of the limit; until then it is in memory alone. 0 tells them, and the disk, of everything',
    parameter: 'rate-publish-threshold',
    changeable: true,
  }),
  home: setting({
    flag: 'home',
    kind: text('region', /^(?:[a-z0-9-]{1,32})?$/, 'the name of a region; empty for the first by name'),
    default: '',
    help: 'the region where quota policies are defined, the same for all regions; without it the first by name of this region and its --peer regions',
  }),
  quotas: setting({
    flag: 'quota',
    kind: quotaDefinitions(),
    default: [] as readonly PartialDefinition[],
    help: 'a quota policy, in the words of QUOTA.DEFINE; used in the home region; may be given several times',
  }),
  transport: setting({
    flag: 'transport',
    kind: choice('transport', ['auto', 'epoll', 'net']),
    default: 'auto',
    help: 'how clients are served: epoll (Linux, several threads), net (anywhere, one thread), or the better one there is',
  }),
  laneCount: setting({
    flag: 'lanes',
    kind: integer('count', 0, 64),
    default: 0,
    help: 'threads that serve clients over epoll; 0 takes one a core, at most 8',
  }),
  maxMemoryBytes: setting({
    flag: 'max-memory',
    kind: size(4 * MEBIBYTE, 8 * GIBIBYTE),
    default: 512 * MEBIBYTE,
    help: 'memory for keys and counters; when it is full, new keys are refused and existing ones go on counting',
    parameter: 'maxmemory',
  }),
  shardCount: setting({
    flag: 'shards',
    kind: powerOfTwo('count', 1, 1024),
    default: 64,
    help: 'parts the store is divided into; more make each pause for growth shorter',
  }),
  growOnlyPrefixes: setting({
    flag: 'grow-only',
    kind: list('prefix', 'key prefixes; may be given several times'),
    default: [] as readonly string[],
    help: 'keys that begin so can only be incremented: no DECR, SET, DEL or FLUSHALL',
  }),
  maxClients: setting({
    flag: 'max-clients',
    kind: integer('count', 1, 4_294_967_295),
    default: DEFAULT_MAXIMUM_CLIENTS,
    help: 'connections served at once; one more is refused',
    parameter: 'maxclients',
    changeable: true,
  }),
  timeoutSeconds: setting({
    flag: 'timeout',
    kind: integer('seconds', 0, MAXIMUM_INT32),
    default: 0,
    help: 'close a connection that has been silent this long; 0 never does',
    parameter: 'timeout',
    changeable: true,
  }),
  tcpKeepaliveSeconds: setting({
    flag: 'tcp-keepalive',
    kind: integer('seconds', 0, MAXIMUM_INT32),
    default: 300,
    help: 'probe silent connections this often, to find peers that are gone; 0 never does',
    parameter: 'tcp-keepalive',
    changeable: true,
  }),
  outputLimit: setting({
    flag: 'client-output-buffer-limit',
    kind: outputLimit(),
    default: { hardBytes: 256 * MEBIBYTE, softBytes: MEBIBYTE, softSeconds: 60 },
    help: 'replies that may wait for a client that does not read: past "hard" it is closed, past "soft" it is not read from, and closed after so many seconds',
    parameter: 'client-output-buffer-limit',
    changeable: true,
  }),
  queryBufferLimitBytes: setting({
    flag: 'client-query-buffer-limit',
    kind: size(MEBIBYTE, GIBIBYTE),
    default: 64 * MEBIBYTE,
    help: 'bytes of one unfinished command, or of the commands of one MULTI, kept per client; past it the client is closed',
    parameter: 'client-query-buffer-limit',
    changeable: true,
  }),
  password: setting({
    flag: 'password',
    kind: text('password', /^.*$/s, 'any text; empty for none'),
    default: '',
    help: 'what clients must give to AUTH; QUOTADB_PASSWORD keeps it out of the list of processes',
    parameter: 'requirepass',
    changeable: true,
    secret: true,
  }),
  users: setting({
    flag: 'users',
    kind: users(),
    default: new Map() as Users,
    help: 'users with roles, key prefixes and hashed secrets, as JSON; in a config file an object. Read again on SIGHUP and ACL LOAD',
    secret: true,
  }),
  slowlogSlowerThanMicroseconds: setting({
    flag: 'slowlog-log-slower-than',
    kind: integer('microseconds', -1, Number.MAX_SAFE_INTEGER),
    default: 10_000,
    help: 'commands that take longer are kept for SLOWLOG; -1 keeps none',
    parameter: 'slowlog-log-slower-than',
    changeable: true,
  }),
  slowlogMaximumLength: setting({
    flag: 'slowlog-max-len',
    kind: integer('count', 0, 100_000),
    default: 128,
    help: 'slow commands kept',
    parameter: 'slowlog-max-len',
    changeable: true,
  }),
  latencyThresholdMs: setting({
    flag: 'latency-monitor-threshold',
    kind: integer('milliseconds', 0, MAXIMUM_INT32),
    default: 0,
    help: 'events that take at least this long are kept for LATENCY; 0 keeps none',
    parameter: 'latency-monitor-threshold',
    changeable: true,
  }),
  loginTimeoutSeconds: setting({
    flag: 'login-timeout',
    kind: integer('seconds', 0, MAXIMUM_INT32),
    default: 30,
    help: 'close a connection that has to log in and has not after this long; 0 never does',
  }),
  respTlsPort: setting({
    flag: 'resp-tls',
    kind: integer('port', -1, 65_535),
    default: -1,
    help: 'a port for Redis clients that use TLS, beside --resp; -1 for none, 0 picks a free one',
    parameter: 'tls-port',
  }),
  httpTls: setting({
    flag: 'http-tls',
    kind: yesOrNo(),
    default: false,
    help: 'serve HTTP over TLS',
  }),
  tlsCertificate: setting({
    flag: 'tls-cert',
    kind: text('file', /^[^\0]*$/, 'the path of a PEM file'),
    default: '',
    help: 'the certificate of this server, and those between it and its authority; read again on SIGHUP and ACL LOAD',
    parameter: 'tls-cert-file',
  }),
  tlsKey: setting({
    flag: 'tls-key',
    kind: text('file', /^[^\0]*$/, 'the path of a PEM file'),
    default: '',
    help: 'the private key of --tls-cert; read again with it',
    parameter: 'tls-key-file',
  }),
  tlsAuthority: setting({
    flag: 'tls-ca',
    kind: text('file', /^[^\0]*$/, 'the path of a PEM file'),
    default: '',
    help: 'the authorities whose client certificates are believed; read again with --tls-cert',
    parameter: 'tls-ca-cert-file',
  }),
  tlsClients: setting({
    flag: 'tls-clients',
    kind: choice('certificates', ['ignored', 'optional', 'required']),
    default: 'ignored',
    help: 'certificates of clients: ignored, asked for, or required and checked against --tls-ca',
  }),
  otlpEndpoint: setting({
    flag: 'otlp-endpoint',
    kind: text('url', /^(?:https?:\/\/\S+)?$/, 'http://… or https://…; empty for none'),
    default: '',
    help: 'send traces to the OpenTelemetry collector there, by OTLP over HTTP; also OTEL_EXPORTER_OTLP_ENDPOINT',
    standardVariable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  }),
  otlpHeaders: setting({
    flag: 'otlp-header',
    kind: list('name=value', 'a header, name=value; may be given several times'),
    default: [] as readonly string[],
    help: 'sent along with traces, for collectors that want a key; also OTEL_EXPORTER_OTLP_HEADERS',
    secret: true,
    standardVariable: 'OTEL_EXPORTER_OTLP_HEADERS',
  }),
  traceEvery: setting({
    flag: 'trace-every',
    kind: integer('count', 1, 1_000_000),
    default: 1,
    help: 'of so many traces that begin here one is recorded; callers that send a traceparent decide for themselves',
  }),
  logLevel: setting({
    flag: 'log-level',
    kind: choice('level', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    default: 'info',
    help: 'how much is logged, as JSON lines on standard error',
  }),
};

/** The values of all settings; those that are changeable change in place. */
export type Configuration = {
  -readonly [Name in keyof typeof settings]: (typeof settings)[Name] extends Setting<infer Value> ? Value : never;
};

export type SettingName = keyof Configuration;

export const settingNames = Object.keys(settings) as SettingName[];

export function defaultConfiguration(): Configuration {
  return Object.fromEntries(settingNames.map((name) => [name, settings[name].default])) as Configuration;
}

/** The table's entry without its value's own type, for code that treats all settings alike. */
export function settingOf(name: SettingName): Setting<unknown> {
  return settings[name] as Setting<unknown>;
}

export function environmentVariable(flag: string): string {
  return `QUOTADB_${flag.toUpperCase().replaceAll('-', '_')}`;
}

function setting<Value>(declaration: Setting<Value>): Setting<Value> {
  return declaration;
}
