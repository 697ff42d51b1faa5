/** The state of replication for INFO, REPL.PEERS LIST, HTTP and metrics: plain data. */
export interface ReplicationDescription {
  readonly cluster: string;
  readonly region: string;
  readonly replicaId: string;
  readonly incarnation: string;
  /** The data directory is an old copy of what peers hold, and what to do; empty where it is none. */
  readonly oldCopy: string;
  /** False until the first peer was configured or connected. */
  readonly isActive: boolean;
  readonly isEncrypted: boolean;
  /** Where other regions connect; -1 where they cannot. */
  readonly port: number;
  readonly peers: readonly PeerDescription[];
  /** Every known region, in the order of the ages on the board. */
  readonly regions: readonly string[];
  /** How often connections were refused, by the code of the reason. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly faults: number;
}

export type PeerState = 'connected' | 'connecting' | 'away' | 'refused' | 'forgotten';

export interface PeerDescription {
  readonly region: string;
  readonly state: PeerState;
  /** From --peer or REPL.PEERS ADD; the others have connected to this node. */
  readonly isConfigured: boolean;
  readonly address: string;
  readonly incarnation: string;
  /** Why it is not connected; empty where it is. */
  readonly trouble: string;
  readonly connectedMs: number;
  readonly roundTripMs: number;
  readonly skewMs: number;
  /** How long the oldest own change that it has not acknowledged has waited; in step, the round trip; -1 = unknown. */
  readonly lagMs: number;
  readonly lagVersions: number;
  readonly lagShards: number;
  /** For a node that started empty: the share of the peer's keys that it holds; 100 once it has caught up. */
  readonly joinedPercent: number;
  readonly figures: PeerFigures;
}

const PEER_COUNTS = [
  'bytesIn',
  'bytesOut',
  'batchesIn',
  'batchesOut',
  'componentsIn',
  'componentsOut',
  'gaps',
  'framesAhead',
  'digestsCompared',
  'digestMismatches',
  'rangesCompared',
  'componentsResent',
  'componentsDropped',
  'outOfMemory',
  'connections',
  'refusals',
] as const;

export interface PeerFigures extends Readonly<Record<(typeof PEER_COUNTS)[number], number>> {
  /** Batches sent, by their size; see LinkFigures. */
  readonly batchSizesOut: readonly number[];
}

export const NO_PEER_FIGURES: PeerFigures = {
  ...(Object.fromEntries(PEER_COUNTS.map((name) => [name, 0])) as Record<(typeof PEER_COUNTS)[number], number>),
  batchSizesOut: [],
};

/** The progress of one region with this node's own changes, in one shard. */
export interface ShardLag {
  readonly shard: number;
  readonly version: number;
  readonly acknowledged: number;
  /** How long the oldest change that it has not acknowledged has waited; 0 where it holds all, -1 = unknown. */
  readonly lagMs: number;
}
