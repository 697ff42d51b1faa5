import type { Allotment, Policy } from '@quotadb/quota';
import type { DoorAnswer, DoorRequest } from '../access/door.js';
import type { Configuration } from '../config/table.js';
import type { DiskRequest } from '../durability/disk-link.js';
import type { QuotaAnswer, QuotaRequest } from '../quotas/quota-link.js';
import type { ReplicationAnswer, ReplicationRequest } from '../replication/replication-link.js';
import type { Identity } from '../server-state.js';
import type { QuestionName } from './questions.js';

/** What a lane's thread is started with. */
export interface LaneStart {
  readonly laneIndex: number;
  readonly laneCount: number;
  /** The main thread serves clients too. */
  readonly hasMainLane: boolean;
  readonly store: SharedArrayBuffer;
  readonly control: SharedArrayBuffer;
  readonly config: Configuration;
  readonly identity: Identity;
  /** The listening socket, which all lanes accept from. */
  readonly listener: number;
  readonly maximumBulkBytes: number;
  /** What lanes and the disk share; undefined where everything is in memory. */
  readonly disk: SharedArrayBuffer | undefined;
  /** The log, where lanes write to it by themselves. */
  readonly log: SharedArrayBuffer | undefined;
  readonly replication: SharedArrayBuffer;
  readonly policies: readonly Policy[];
  /** Nobody else uses the store: it can do without locks, until it is told otherwise. */
  readonly isExclusive: boolean;
}

/** From the main thread to a lane. The lane is woken after each. */
export type ToLane =
  | {
      readonly kind: 'question';
      readonly id: number;
      readonly name: QuestionName;
      readonly ask: unknown;
    }
  | { readonly kind: 'order'; readonly name: QuestionName; readonly ask: unknown }
  | { readonly kind: 'answers'; readonly id: number; readonly answers: readonly unknown[] }
  | { readonly kind: 'doorAnswer'; readonly id: number; readonly answer: DoorAnswer }
  | { readonly kind: 'diskAnswer'; readonly id: number; readonly error: string | undefined }
  | { readonly kind: 'replicationAnswer'; readonly id: number; readonly answer: ReplicationAnswer }
  | { readonly kind: 'quotaAnswer'; readonly id: number; readonly answer: QuotaAnswer }
  | { readonly kind: 'policies'; readonly policies: readonly Policy[] }
  /** From now on the main thread uses the store too. */
  | { readonly kind: 'share' }
  | { readonly kind: 'stop'; readonly withinMs: number };

/** From a lane to the main thread, which passes questions on to all lanes and brings the answers back. */
export type FromLane =
  | { readonly kind: 'ready' }
  | { readonly kind: 'question'; readonly id: number; readonly name: QuestionName; readonly ask: unknown }
  | { readonly kind: 'order'; readonly name: QuestionName; readonly ask: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'flush' }
  | { readonly kind: 'door'; readonly id: number; readonly request: DoorRequest }
  | { readonly kind: 'disk'; readonly id: number; readonly request: DiskRequest }
  | { readonly kind: 'replication'; readonly id: number; readonly request: ReplicationRequest }
  | { readonly kind: 'quota'; readonly id: number; readonly request: QuotaRequest }
  | { readonly kind: 'foresee'; readonly cell: Allotment; readonly target: number }
  | { readonly kind: 'shared' }
  | { readonly kind: 'fault'; readonly error: string; readonly client: number; readonly command: string };
