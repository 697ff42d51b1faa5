export { BATCH_SIZE_BUCKETS, LinkFigures } from './figures.js';
export { isSameReplica, nameOfOrigin, REPLICA_ID_BYTES, replicaIdOf } from './identity.js';
export { lagMs, shardLagMs } from './lag.js';
export type { Link, LinkTransport } from './link.js';
export type { Start } from './lost-state.js';
export type { Member } from './member.js';
export { Replica, type ReplicaEvents } from './replica.js';
export { DEFAULT_SETTINGS, type ReplicationSettings } from './settings.js';
