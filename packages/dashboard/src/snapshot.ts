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
  readonly limits: readonly LimitFigures[];
  readonly quotas: readonly QuotaFigures[];
  /** Tokens of all quotas that went between this region and others. */
  readonly tokenFlow: readonly TokenFlow[];
  readonly counts: CountsFigures;
  /** Null without a cluster map. */
  readonly cluster: ClusterFigures | null;
}

/** A cluster of groups, as one of its servers sees it. */
export interface ClusterFigures {
  /** Of the map in force here. */
  readonly revision: number;
  /** How many different revisions the members know that answer, this one included. */
  readonly revisions: number;
  /** The group of this server. */
  readonly group: string;
  readonly unassignedSlots: number;
  readonly groups: readonly GroupFigures[];
  readonly moves: readonly MoveFigures[];
  /** Moves stand still until an operator goes on with them. */
  readonly isPaused: boolean;
}

export interface GroupFigures {
  readonly name: string;
  readonly isOwn: boolean;
  readonly slots: number;
  readonly ranges: readonly (readonly [first: number, last: number])[];
  readonly members: readonly GroupMember[];
  /** How its policies and limits compare with those here; null where this server is not the home of its group. */
  readonly policies: 'same' | 'different' | 'unreachable' | null;
  readonly trouble: string;
}

export interface GroupMember {
  /** Its region, and where that has several its own name: us/a. */
  readonly name: string;
  readonly address: string;
  readonly state: 'here' | 'reachable' | 'unreachable' | 'unknown';
  /** Of the map that it knows; null where it could not be asked. */
  readonly revision: number | null;
}

/** Slots on their way from one group to another. */
export interface MoveFigures {
  readonly from: string;
  readonly to: string;
  /** Those that have not arrived. */
  readonly slots: number;
  readonly ranges: readonly (readonly [first: number, last: number])[];
  /** Commands on these wait at the moment. */
  readonly heldSlots: number;
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
  /** From --peer or REPL.PEERS ADD: it is missed where it does not answer. */
  readonly isConfigured: boolean;
  readonly roundTripMs: number;
  readonly skewMs: number;
  /** Changes of this region that the peer has not acknowledged, in the shard with the most. */
  readonly lagVersions: number;
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

/** A setting, as its table explains it. */
export interface SettingFacts {
  /** The flag, with its dashes. */
  readonly name: string;
  readonly value: string;
  readonly standard: string;
  readonly help: string;
  readonly range: string;
  /** CONFIG SET changes it while the server runs. */
  readonly isChangeable: boolean;
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

/** A limit of the catalogue, or one that a gateway asked for. */
export interface LimitFigures {
  readonly name: string;
  /** Null where the catalogue does not have it. */
  readonly kind: string | null;
  readonly isShadow: boolean;
  readonly allowedTotal: number;
  readonly deniedTotal: number;
  /** Requests that it would have denied, were it not in shadow. */
  readonly shadowDeniedTotal: number;
  /** The subjects that it denies most, from a sample of the last ten seconds. */
  readonly subjects: readonly {
    readonly subject: string;
    readonly deniedPerSecond: number;
    readonly isShadow: boolean;
  }[];
}

export interface QuotaFigures {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** The longest lease of a quota that limits concurrency; null for one that counts takes. */
  readonly leaseMs: number | null;
  /** How long a caller waits for tokens of regions that do not answer; 0 denies at once. */
  readonly waitMs: number;
  /** `hour`, `day`, `week` or `month` where windows are those of the calendar, else null. */
  readonly calendar: string | null;
  /** It belongs to a limit of the catalogue, which is changed there. */
  readonly isCatalogued: boolean;
  readonly allocator: string;
  readonly shares: readonly { readonly region: string; readonly fraction: number }[];
  readonly allowedTotal: number;
  readonly deniedTotal: number;
  readonly tokensTotal: number;
  readonly refillsTotal: number;
  readonly tokensRefilledTotal: number;
  readonly subjects: readonly HotFigures[];
}

/** A limit as the catalogue writes it; the page shows all of its fields and knows these. */
export interface LimitEntry {
  readonly name: string;
  readonly kind: string;
  readonly limit: number | string;
  readonly window?: number | string;
  readonly hold?: number | string;
  readonly domain?: string;
  readonly parent?: string;
  readonly overrides?: readonly object[];
  readonly shadow?: boolean;
  readonly enabled?: boolean;
}

export interface Catalogue {
  readonly plans?: Readonly<Record<string, { readonly subjects: readonly string[] }>>;
  readonly limits: readonly LimitEntry[];
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

/** One key in a list. */
export interface KeySummary {
  readonly key: string;
  /** False where the name is not UTF-8: such a key cannot be asked for by its text. */
  readonly isText: boolean;
  readonly value: string;
  readonly expiresAtMs: number;
  /** The regions that have counted in it, each once. */
  readonly regions: readonly string[];
}

export interface KeyPage {
  readonly keys: readonly KeySummary[];
  /** Empty at the end. */
  readonly cursor: string;
}

/** One named count of PostgreSQL. */
export interface CountSummary {
  readonly itemId: string;
  readonly value: string;
  readonly updatedAtMs: number;
}

export interface CountPage {
  /** False where no database is in use, and asking would start one. */
  readonly isInUse: boolean;
  readonly counts: readonly CountSummary[];
  /** The item id to go on after; empty at the end. */
  readonly cursor: string;
}

/** Where the page's figures come from, and who asks for them. */
export interface Sources {
  readonly sources: readonly Source[];
  /** The page can cut links, stop regions and change the traffic. */
  readonly isDemo: boolean;
  readonly user: PageUser;
}

/** Snapshots come from this server, or in the demo from each of its regions. */
export interface Source {
  readonly region: string;
  readonly base: string;
}

export interface PageUser {
  readonly name: string;
  /** May define quotas and read settings and counts. */
  readonly isAdmin: boolean;
  /** May take from quotas. */
  readonly mayTake: boolean;
}

export type HistoryRange = '5m' | '15m' | '1h' | '6h' | '24h';

export type HistoryField =
  | 'commandsPerSecond'
  | 'p99Microseconds'
  | 'usedBytes'
  | 'keys'
  | 'connections'
  | 'lagMs'
  | 'takesPerSecond'
  | 'takesDeniedPerSecond'
  | 'ratesAllowedPerSecond'
  | 'ratesDeniedPerSecond'
  | 'countsPerSecond'
  | 'limitsAllowedPerSecond'
  | 'limitsDeniedPerSecond'
  | 'limitsShadowDeniedPerSecond';

/** The past of a server: a value for each step, from the oldest to the newest; null where it is not known. */
export interface History {
  readonly range: HistoryRange;
  readonly stepMs: number;
  /** When the first step began. */
  readonly startMs: number;
  readonly series: Readonly<Record<HistoryField, readonly (number | null)[]>>;
}
