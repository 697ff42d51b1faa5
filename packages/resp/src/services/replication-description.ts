/** What is shown of replication: INFO, REPL.PEERS LIST, HTTP and metrics. Everything in it is plain data. */
export interface ReplicationDescription {
  readonly cluster: string;
  readonly region: string;
  readonly replicaId: string;
  readonly incarnation: string;
  /** False until there was somebody to replicate with. */
  readonly isActive: boolean;
  readonly isEncrypted: boolean;
  /** Where other regions connect; -1 where they cannot. */
  readonly port: number;
  readonly peers: readonly PeerDescription[];
  /** Every region of which something is known, in the order in which the board has its age. */
  readonly regions: readonly string[];
  /** By code. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly faults: number;
}

export type PeerState = 'connected' | 'connecting' | 'away' | 'refused' | 'forgotten';

export interface PeerDescription {
  readonly region: string;
  readonly state: PeerState;
  /** From --peer or REPL.PEERS ADD; the others have come by themselves. */
  readonly isConfigured: boolean;
  readonly address: string;
  readonly incarnation: string;
  /** Why it is not connected, in words; empty where it is. */
  readonly trouble: string;
  readonly connectedMs: number;
  readonly roundTripMs: number;
  readonly skewMs: number;
  /** How far it is behind with this node's own changes: -1 = it has not said yet. */
  readonly lagMs: number;
  readonly lagVersions: number;
  readonly lagShards: number;
  /** This node began with nothing: how many of the keys of the other it has. 100 when there is nothing to catch up with. */
  readonly joinedPercent: number;
  readonly figures: PeerFigures;
}

export interface PeerFigures {
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly batchesIn: number;
  readonly batchesOut: number;
  readonly componentsIn: number;
  readonly componentsOut: number;
  /** Batches sent, by their size; see LinkFigures. */
  readonly batchSizesOut: readonly number[];
  readonly gaps: number;
  readonly digestsCompared: number;
  readonly digestMismatches: number;
  readonly rangesCompared: number;
  readonly componentsResent: number;
  readonly componentsDropped: number;
  readonly outOfMemory: number;
  readonly connections: number;
  readonly refusals: number;
}

export const NO_PEER_FIGURES: PeerFigures = {
  bytesIn: 0,
  bytesOut: 0,
  batchesIn: 0,
  batchesOut: 0,
  componentsIn: 0,
  componentsOut: 0,
  batchSizesOut: [],
  gaps: 0,
  digestsCompared: 0,
  digestMismatches: 0,
  rangesCompared: 0,
  componentsResent: 0,
  componentsDropped: 0,
  outOfMemory: 0,
  connections: 0,
  refusals: 0,
};

/** How far one region is with this node's own changes, shard by shard. */
export interface ShardLag {
  readonly shard: number;
  readonly version: number;
  readonly acknowledged: number;
  /** From the last change that it has to the last one there is; 0 where it has all. */
  readonly lagMs: number;
}
