export { BATCH_SIZE_BUCKETS, LinkFigures } from './figures.js';
export { type Acquaintance, REFUSAL_CODES, type RefusalCode, type RefusalReason } from './handshake.js';
export { isSameReplica, nameOfOrigin, REPLICA_ID_BYTES, type ReplicaIdentity, replicaIdOf } from './identity.js';
export type { Link, LinkTransport } from './link.js';
export type { Member } from './member.js';
export { Replica, type ReplicaClock, type ReplicaEvents, type ReplicaOptions } from './replica.js';
export { DEFAULT_SETTINGS, type ReplicationSettings } from './settings.js';
