/**
 * What the page is told, once a second. Plain data: the server fills it in, the page shows it, and nothing else lies
 * between them. Figures that a server does not have are left out, and the page does not show them.
 */
export interface Snapshot {
  readonly atMs: number;
  readonly server: ServerFacts;
  readonly traffic: TrafficFigures;
  readonly memory: MemoryFigures;
  readonly replication: ReplicationFigures | null;
  readonly persistence: readonly Fact[] | null;
  readonly slowCommands: readonly SlowCommand[];
  readonly quotas: readonly QuotaFigures[] | null;
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
  /** Of the time that a command takes inside the server, in microseconds; null where nothing was measured. */
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

export interface QuotaFigures {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly allocator: string;
}

/** One key, looked at closely. */
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
