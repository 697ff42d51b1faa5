/**
 * The figures that the server sends to the page once a second. Figures that a server does not have are left out, and
 * the page does not show them.
 */
export interface Snapshot {
  readonly atMs: number;
  readonly server: ServerFacts;
  readonly traffic: TrafficFigures;
  readonly memory: MemoryFigures;
  readonly replication: ReplicationFigures | null;
  readonly persistence: DiskFigures | null;
  readonly slowCommands: readonly SlowCommand[];
  readonly rates: RateFigures;
  readonly quotas: readonly QuotaFigures[];
  /** Tokens of all quotas that went between this region and others. */
  readonly tokenFlow: readonly TokenFlow[];
  readonly counts: CountsFigures;
}

export interface ServerFacts {
  readonly region: string;
  readonly version: string;
  readonly transport: string;
  readonly lanes: number;
  readonly uptimeSeconds: number;
  readonly processId: number;
}

export interface TrafficFigures {
  readonly commandsTotal: number;
  readonly commandsPerSecond: number;
  readonly connections: number;
  /** The time of a command inside the server, in microseconds; null without a measurement. */
  readonly p50Microseconds: number | null;
  readonly p99Microseconds: number | null;
  readonly longestTurnMicroseconds: number;
}

export interface MemoryFigures {
  readonly usedBytes: number;
  readonly maximumBytes: number;
  readonly keys: number;
  readonly keysWithExpiry: number;
}

export interface ReplicationFigures {
  readonly cluster: string;
  readonly peers: readonly PeerFigures[];
}

export interface PeerFigures {
  readonly region: string;
  readonly address: string;
  readonly state: string;
  readonly roundTripMs: number;
  readonly skewMs: number;
  /** How far the peer is behind with this region's changes; -1 = not known. */
  readonly lagMs: number;
  /** How long ago this region knew everything of the peer; -1 = never. */
  readonly ageMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly batchesIn: number;
  readonly batchesOut: number;
  readonly repairs: number;
  readonly joinedPercent: number;
  readonly trouble: string;
}

export interface DiskFigures {
  readonly isFailed: boolean;
  readonly fsync: string;
  readonly logBytes: number;
  readonly snapshotBytes: number;
  /** When the last snapshot was finished, or the data was made. */
  readonly snapshotAtMs: number;
  readonly isSnapshotting: boolean;
  readonly hasSnapshotFailed: boolean;
  readonly writtenBytesTotal: number;
  readonly flushesTotal: number;
  readonly flushesLateTotal: number;
  readonly syncsTotal: number;
  readonly lastFlushMs: number;
  /** Of the syncs since the snapshot before; null where there were none. */
  readonly syncP99Microseconds: number | null;
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface SlowCommand {
  readonly id: number;
  readonly atMs: number;
  readonly microseconds: number;
  readonly command: string;
  readonly client: string;
}

export interface RateFigures {
  readonly allowedTotal: number;
  readonly deniedTotal: number;
  readonly hottest: readonly HotFigures[];
}

/** The identifiers with the most decisions, from a sample of the last ten seconds. */
export interface HotFigures {
  readonly identifier: string;
  readonly allowedPerSecond: number;
  readonly deniedPerSecond: number;
}

export interface QuotaFigures {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly allocator: string;
  readonly shares: readonly { readonly region: string; readonly fraction: number }[];
  readonly allowedTotal: number;
  readonly deniedTotal: number;
  readonly tokensTotal: number;
  readonly refillsTotal: number;
  readonly tokensRefilledTotal: number;
  readonly subjects: readonly HotFigures[];
}

export interface TokenFlow {
  readonly region: string;
  readonly givenTotal: number;
  readonly receivedTotal: number;
  readonly requestsTotal: number;
  readonly waitedMsTotal: number;
}

export interface CountsFigures {
  readonly state: 'unused' | 'fine' | 'trouble';
  readonly isEmbedded: boolean;
  readonly trouble: string;
  readonly waiting: number;
  readonly statementsInFlight: number;
  readonly changesTotal: number;
  readonly changesFailedTotal: number;
  readonly statementsTotal: number;
  readonly statementsFailedTotal: number;
  readonly latencyMsTotal: number;
  /** Of the statements since the snapshot before; null where there were none. */
  readonly statementP99Microseconds: number | null;
}

/** One subject of a quota: where its tokens are, as far as the region that answers knows. */
export interface QuotaDetails {
  readonly name: string;
  readonly subject: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly resetMs: number;
  readonly places: readonly TokenPlace[];
}

export interface TokenPlace {
  readonly region: string;
  readonly isOwn: boolean;
  /** Neither spent nor set aside. */
  readonly held: number;
  /** Set aside to be spent there, spent or not. */
  readonly setAside: number;
  /** The local balance: set aside and not spent; a region knows its own only. */
  readonly localBalance: number | null;
}

/** One key by its components. */
export interface KeyDetails {
  readonly key: string;
  readonly exists: boolean;
  readonly value: string;
  readonly expiresAtMs: number;
  readonly components: readonly ComponentDetails[];
}

export interface ComponentDetails {
  readonly region: string;
  readonly incarnation: string;
  readonly isOwn: boolean;
  readonly added: string;
  readonly taken: string;
  readonly changedAtMs: number;
}

export interface KeyPage {
  readonly keys: readonly string[];
  /** Empty at the end. */
  readonly cursor: string;
}
