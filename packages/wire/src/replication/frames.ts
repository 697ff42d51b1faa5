import type { Batch } from '@quotadb/engine';

/**
 * The frames that two replicas exchange on one link, in both directions. `replication.proto` has them in protobuf.
 *
 *   frame     | sent by, and meaning
 *   ----------|-------------------------------------------------------------------------------------------------------
 *   hello     | both, first: identity, protocol versions, and the settings that have to be the same on both sides
 *   refusal   | either: why it refuses the link; the link ends
 *   feed      | a receiver: requests the stream of an origin's changes from these watermarks on, or cancels it.
 *             | Requested again when a part got lost on the way
 *   batch     | a sender: a part of a walk of one origin in one shard (engine/batch.ts)
 *   seen      | both: the watermarks up to which the sender holds all changes of an origin; acknowledges batches
 *   ping/pong | both: whether the peer answers, the round trip, and the peer's wall clock
 *   digests   | both, at intervals: the digests of an origin's shards at these watermarks; and on request, those of all
 *             | shards of an origin that is lost (replication/origin-comparison.ts)
 *   ranges    | a replica that found another digest at the same watermark: its digests by ranges of key hashes
 *   inventory | the answer to it, and the answer to that: keys and versions in a range that differs
 *   policies  | both, after the hello and when they change: the quota policies as the home region has them
 *   policy…   | a request that a region forwards to another, such as defining a policy at the home; the answer
 *   tokens…   | a region requests a quota's tokens from another; the answer. The grant itself is a counter in a batch
 */
export const FrameKind = {
  hello: 1,
  refusal: 2,
  feed: 3,
  batch: 4,
  seen: 5,
  ping: 6,
  pong: 7,
  digests: 8,
  ranges: 9,
  inventory: 10,
  policies: 11,
  tokensWanted: 12,
  tokensAnswer: 13,
  policyChange: 14,
  policyAnswer: 15,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export type Frame =
  | Hello
  | Refusal
  | Feed
  | BatchFrame
  | Seen
  | Ping
  | Pong
  | Digests
  | Ranges
  | Inventory
  | Policies
  | TokensWanted
  | TokensAnswer
  | PolicyChange
  | PolicyAnswer;

export interface Hello {
  readonly kind: typeof FrameKind.hello;
  /** The lowest version of the protocol that the sender speaks. */
  readonly protocol: number;
  /** The highest one; 0 = the same as the lowest. Releases from before there was this field speak one version. */
  readonly highestProtocol: number;
  readonly cluster: string;
  readonly region: string;
  /** Replica id and incarnation. */
  readonly origin: Uint8Array;
  readonly shardCount: number;
  /** Settings that have to be the same everywhere, by name, so that a refusal can say which one is not. */
  readonly agreements: readonly Agreement[];
  readonly nowMs: number;
  /** The number of keys here: the size of the first copy for a replica that begins with none. */
  readonly keys: number;
  /** Drawn at random by each process: two that run under one name differ in it. 0 in releases from before it. */
  readonly boot: number;
}

export interface Agreement {
  readonly name: string;
  readonly value: string;
}

export interface Refusal {
  readonly kind: typeof FrameKind.refusal;
  /** For metrics, such as `cluster`; see RefusalCode in replication/handshake.ts. */
  readonly code: string;
  /** For the operator of the peer. */
  readonly message: string;
}

/** Requests or cancels a stream. */
export interface Feed {
  readonly kind: typeof FrameKind.feed;
  readonly origin: Uint8Array;
  readonly isWanted: boolean;
  /** One for each shard; empty where the stream is cancelled. */
  readonly watermarks: readonly number[];
}

export interface BatchFrame {
  readonly kind: typeof FrameKind.batch;
  readonly batch: Batch;
}

export interface Seen {
  readonly kind: typeof FrameKind.seen;
  readonly origin: Uint8Array;
  /** How old these watermarks are, in milliseconds: 0 from the origin itself; -1 where the sender does not know. */
  readonly ageMs: number;
  /** All shards are in it: a replica that has reached all of these is as fresh as the sender was `ageMs` ago. */
  readonly isWhole: boolean;
  /** The newest ping of the peer that had arrived when this was written; 0 = none. So it is younger than that ping. */
  readonly afterToken: number;
  /**
   * Durable: the sender's disk holds these changes, or it has no disk and comes back from a crash as another origin.
   */
  readonly isKept: boolean;
  /** Of the origin's process that the sender has heard of last; 0 where it knows of none, and in partial reports. */
  readonly boot: number;
  /** How long ago that process ran for certain. */
  readonly bootAgeMs: number;
  readonly shards: readonly number[];
  readonly versions: readonly number[];
}

export interface Ping {
  readonly kind: typeof FrameKind.ping;
  /** Comes back with the pong: microseconds of the sender's monotonic clock, of no meaning to the peer. */
  readonly token: number;
}

export interface Pong {
  readonly kind: typeof FrameKind.pong;
  readonly token: number;
  /** The wall clock of the replica that answers. */
  readonly nowMs: number;
}

export interface Digests {
  readonly kind: typeof FrameKind.digests;
  readonly origin: Uint8Array;
  readonly shards: readonly number[];
  readonly versions: readonly number[];
  /** Eight bytes each, as sixteen hexadecimal digits. */
  readonly digests: readonly string[];
  /** The number of a question for the digests of all shards, with none of its own, or of its answer; 0 at intervals. */
  readonly question: number;
  readonly isAnswer: boolean;
}

export interface Ranges {
  readonly kind: typeof FrameKind.ranges;
  readonly origin: Uint8Array;
  readonly shard: number;
  /** The watermark of the sender. */
  readonly version: number;
  /** One for each range, a power of two of them, by the lowest bits of the key's shared hash: 32 bits each. */
  readonly digests: Int32Array;
}

export interface Inventory {
  readonly kind: typeof FrameKind.inventory;
  readonly origin: Uint8Array;
  readonly shard: number;
  /** The watermark of the sender: components below it that are not listed are gone. */
  readonly version: number;
  readonly rangeCount: number;
  readonly range: number;
  /** Whether the peer is to answer with its own inventory of the range. */
  readonly wantsAnswer: boolean;
  readonly keys: readonly Uint8Array[];
  readonly versions: readonly number[];
}

/** Frames that replication passes on to the quota service. */
export type QuotaFrame = Policies | TokensWanted | TokensAnswer | PolicyChange | PolicyAnswer;

export interface Policies {
  readonly kind: typeof FrameKind.policies;
  readonly version: number;
  /** The set as JSON, see quota/policy-book.ts. */
  readonly body: Uint8Array;
}

export interface TokensWanted {
  readonly kind: typeof FrameKind.tokensWanted;
  /** The incarnation that requests: tokens are granted to it and to no other. */
  readonly origin: Uint8Array;
  readonly fromRegion: string;
  readonly toRegion: string;
  readonly request: number;
  readonly policy: number;
  readonly policiesVersion: number;
  readonly window: number;
  readonly subject: Uint8Array;
  readonly need: number;
  /** How many regions have forwarded it. */
  readonly hops: number;
}

export interface TokensAnswer {
  readonly kind: typeof FrameKind.tokensAnswer;
  readonly origin: Uint8Array;
  readonly fromRegion: string;
  readonly toRegion: string;
  readonly request: number;
  readonly policy: number;
  readonly window: number;
  readonly subject: Uint8Array;
  /** 0 = there are no tokens to grant. */
  readonly granted: number;
  readonly hops: number;
}

/** A forwarded request: to define or drop a policy, and to renew leases. */
export interface PolicyChange {
  readonly kind: typeof FrameKind.policyChange;
  readonly request: number;
  /** The request as JSON; see server/quotas. */
  readonly body: Uint8Array;
}

export interface PolicyAnswer {
  readonly kind: typeof FrameKind.policyAnswer;
  readonly request: number;
  /** The answer as JSON. */
  readonly body: Uint8Array;
}

/** A longer frame is refused before it is read: the longest batch is far below. */
export const MAXIMUM_FRAME_BYTES = 4 * 1024 * 1024;

/** Bytes that are no frame, or a frame that cannot be encoded. The message names the fault. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}
