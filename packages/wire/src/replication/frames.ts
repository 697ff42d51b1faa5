import type { Batch } from '@quotadb/engine';

/**
 * What two replicas say to each other, on one stream in both directions. `replication.proto` is the same in protobuf.
 *
 *   frame     | who says it, and what it means
 *   ----------|-------------------------------------------------------------------------------------------------------
 *   hello     | both, first: who I am, and what has to be the same on both sides
 *   refusal   | either: I will not talk to you, because …; the stream ends
 *   feed      | a receiver: send me this origin's changes from these watermarks on (or: no more of them). Said again
 *             | when something got lost on the way
 *   batch     | a sender: a part of a walk of one origin in one shard (engine/batch.ts)
 *   seen      | a receiver: I hold everything of this origin up to here. Also how far the sender itself has come
 *   ping/pong | both: is anybody there, how far away, and what time is it with you
 *   digests   | both, now and then: my digests of an origin at these watermarks
 *   ranges    | whoever found another digest at the same watermark: my digests by ranges of key hashes
 *   inventory | the answer, and the answer to it: what I hold in a range that differs, by key and version
 *   policies  | both, after the hello and when they change: the quota policies as the home has them
 *   change…   | a region asks the home to define or drop a policy; the answer
 *   tokens…   | a region in need of a quota's tokens asks another; the answer. The grant itself is a counter in a batch
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
  /** How many keys there are here: what somebody who begins with nothing has to expect. */
  readonly keys: number;
}

export interface Agreement {
  readonly name: string;
  readonly value: string;
}

export interface Refusal {
  readonly kind: typeof FrameKind.refusal;
  /** A word for machines, such as `cluster`; see replication/refusals.ts. */
  readonly code: string;
  /** For the operator on the other side. */
  readonly message: string;
}

export interface Feed {
  readonly kind: typeof FrameKind.feed;
  readonly origin: Uint8Array;
  readonly isWanted: boolean;
  /** One for each shard; empty where it is not wanted any more. */
  readonly watermarks: readonly number[];
}

export interface BatchFrame {
  readonly kind: typeof FrameKind.batch;
  readonly batch: Batch;
}

export interface Seen {
  readonly kind: typeof FrameKind.seen;
  readonly origin: Uint8Array;
  /** How old this is, in milliseconds: 0 from the origin itself; -1 where the sender cannot tell. */
  readonly ageMs: number;
  /** Every shard is in it: who has seen all of this is as far as the sender, `ageMs` ago. */
  readonly isWhole: boolean;
  /** The newest ping of the other side that had come when this was said; 0 = none. So it was said after that was sent. */
  readonly afterToken: number;
  /** The sender will still know after a crash: its disk holds it, or it has none and a crash makes it another origin. */
  readonly isKept: boolean;
  readonly shards: readonly number[];
  readonly versions: readonly number[];
}

export interface Ping {
  readonly kind: typeof FrameKind.ping;
  /** Comes back with the pong: microseconds of the sender's monotonic clock, which mean nothing to anybody else. */
  readonly token: number;
}

export interface Pong {
  readonly kind: typeof FrameKind.pong;
  readonly token: number;
  /** The wall clock of whoever answers. */
  readonly nowMs: number;
}

export interface Digests {
  readonly kind: typeof FrameKind.digests;
  readonly origin: Uint8Array;
  readonly shards: readonly number[];
  readonly versions: readonly number[];
  /** Eight bytes each, as sixteen hexadecimal digits. */
  readonly digests: readonly string[];
}

export interface Ranges {
  readonly kind: typeof FrameKind.ranges;
  readonly origin: Uint8Array;
  readonly shard: number;
  /** The watermark of whoever made them. */
  readonly version: number;
  /** One for each range, a power of two of them, by the lowest bits of the key's shared hash: 32 bits each. */
  readonly digests: Int32Array;
}

export interface Inventory {
  readonly kind: typeof FrameKind.inventory;
  readonly origin: Uint8Array;
  readonly shard: number;
  /** The watermark of whoever made it: what is not listed and lies under it is gone. */
  readonly version: number;
  readonly rangeCount: number;
  readonly range: number;
  /** To be answered by the other side's own inventory of the range. */
  readonly wantsAnswer: boolean;
  readonly keys: readonly Uint8Array[];
  readonly versions: readonly number[];
}

/** Whatever is said about quotas. */
export type QuotaFrame = Policies | TokensWanted | TokensAnswer | PolicyChange | PolicyAnswer;

export interface Policies {
  readonly kind: typeof FrameKind.policies;
  readonly version: number;
  /** The set as JSON, see quota/policy-book.ts. */
  readonly body: Uint8Array;
}

export interface TokensWanted {
  readonly kind: typeof FrameKind.tokensWanted;
  /** The incarnation that asks: what is granted is granted to it and to no other. */
  readonly origin: Uint8Array;
  readonly fromRegion: string;
  readonly toRegion: string;
  readonly request: number;
  readonly policy: number;
  readonly policiesVersion: number;
  readonly window: number;
  readonly subject: Uint8Array;
  readonly need: number;
  /** Through how many others it came. */
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
  /** 0 = there is nothing to give. */
  readonly granted: number;
  readonly hops: number;
}

export interface PolicyChange {
  readonly kind: typeof FrameKind.policyChange;
  readonly request: number;
  /** What is to be defined or dropped, as JSON; see server/quotas. */
  readonly body: Uint8Array;
}

export interface PolicyAnswer {
  readonly kind: typeof FrameKind.policyAnswer;
  readonly request: number;
  /** What came of it, as JSON. */
  readonly body: Uint8Array;
}

/** A frame that is longer is refused before it is read: the longest batch is far below. */
export const MAXIMUM_FRAME_BYTES = 4 * 1024 * 1024;
