import type { Allotment } from '@quotadb/quota';
import { type AskService, askDirectly, type ServiceHandlers } from './channel.js';
import type { ForwardAnswer, ForwardRequest, OperationRequest, PoliciesRequest } from './lane-cluster.js';
import type { DiskRequest } from './lane-disk.js';
import type { LimitAnswer, LimitRequest } from './lane-limits.js';
import type { QuotaAnswer, QuotaRequest } from './lane-quotas.js';
import type { ReplicationAnswer, ReplicationRequest } from './lane-replication.js';

export interface LoginAttempt {
  readonly name: string;
  readonly password: Uint8Array;
  /** host:port of the client. */
  readonly address: string;
  /** Whether the password is right, where that needs no hash. The main thread decides when the answer is given. */
  readonly known: boolean | undefined;
}

/** `busy`: the password was not checked, because too many attempts of the same host wait, or the client has gone. */
export type LoginAnswer = 'right' | 'wrong' | 'busy';

/** The services of the main thread for lanes and HTTP. */
export interface MainServices {
  /** Whether the password is right. */
  login: { ask: LoginAttempt; answer: LoginAnswer };
  /** One-way: the client at this address, host:port, has gone while it waited for its login. */
  abandonLogin: { ask: string; answer: null };
  /** Reads the configuration again, for all lanes; answers with the mistake in it, if any. */
  reload: { ask: null; answer: string | undefined };
  /** Answers with an error message, or with nothing. */
  disk: { ask: DiskRequest; answer: string | undefined };
  /** One-way: a lane has drawn a ticket, see DiskBoard. */
  flush: { ask: null; answer: null };
  /** Answers when the system has all changes so far, or the disk fails. */
  write: { ask: null; answer: null };
  replication: { ask: ReplicationRequest; answer: ReplicationAnswer };
  quotas: { ask: QuotaRequest; answer: QuotaAnswer };
  limits: { ask: LimitRequest; answer: LimitAnswer };
  /** Carries a command to the group that owns its keys. */
  forward: { ask: ForwardRequest; answer: ForwardAnswer };
  /** The cluster as operators see it, in JSON; empty before there is a map. */
  clusterStatus: { ask: null; answer: string };
  /** Answers with the policies that all groups share, or takes over those of another one. */
  policies: { ask: PoliciesRequest; answer: QuotaAnswer };
  /** Runs an operation of HTTP; answers with JSON of its status, headers and body. */
  operation: { ask: OperationRequest; answer: string };
  /** Answers when a slot is not on its way between groups any more; false where too many wait. */
  awaitSlot: { ask: number; answer: boolean };
  /** What a mover of another node asks of this one, see `CLUSTER MOVING`. */
  moving: { ask: MovingRequest; answer: MovingAnswer };
  /** One-way: a local balance runs low. */
  refill: { ask: RefillRequest; answer: null };
}

/** A step of a move, see packages/server/src/cluster/moving. */
export interface MovingRequest {
  readonly step: string;
  /** JSON. */
  readonly about: string;
  readonly entries: Uint8Array;
}

export type MovingAnswer = { readonly answer: string } | { readonly error: string };

/** Raise the local balance of this allotment to `target` tokens. */
export interface RefillRequest {
  readonly allotment: Allotment;
  readonly target: number;
}

export type AskMain = AskService<MainServices>;

/** For sessions in tests, without a server: no password of a user is right, and there is no disk, peer or quota. */
export const noServices: ServiceHandlers<MainServices> = {
  login: ({ known }, answered) => answered(known === true ? 'right' : 'wrong'),
  abandonLogin: () => {},
  reload: (_, answered) => answered('there is no configuration to read again'),
  disk: (_, answered) => answered('there is no data directory'),
  flush: () => {},
  write: (_, answered) => answered(null),
  replication: (_, answered) => answered({ error: 'this server does not replicate' }),
  quotas: (_, answered) => answered({ error: 'this server has no quotas' }),
  limits: (_, answered) => answered({ error: 'this server has no limits' }),
  forward: (_, answered) => answered({ error: 'ERR this server has no cluster map' }),
  clusterStatus: (_, answered) => answered(''),
  policies: (_, answered) => answered({ error: 'this server has no quotas' }),
  operation: (_, answered) => answered('{"status":404,"headers":{},"body":""}'),
  awaitSlot: (_, answered) => answered(false),
  moving: (_, answered) => answered({ error: 'ERR this server has no cluster map that slots move in' }),
  refill: () => {},
};

export const askWithoutMain: AskMain = askDirectly(noServices);
