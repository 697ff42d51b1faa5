/**
 * The map in etcd, over its JSON gateway and node:http: several members with failover, TLS, users.
 *
 * Cost: one open stream a process, one read every three seconds, a lease that is kept alive three times in its life.
 * Bounds: each etcd member has two seconds to answer, answers have at most 8 MiB, and everything is checked at one gate
 * (`answers.ts`, and the schema of the map).
 */

export type { KeyValue } from './answers.js';
export { Code, EtcdRefused, EtcdUnreachable } from './errors.js';
export type { Etcd, Fence, KeptLease, TransactionResult } from './etcd-client.js';
export { EtcdMapStore, type EtcdMapStoreOptions } from './etcd-map-store.js';
