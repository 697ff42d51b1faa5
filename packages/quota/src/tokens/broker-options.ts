import type { Engine } from '@quotadb/engine';
import type { TokensAnswer, TokensWanted } from '@quotadb/wire';
import type { PolicyBook } from '../home/policy-book.js';
import type { Policy } from '../policies/policy.js';

/** The other regions, as far as they can be reached now. */
export interface QuotaPeers {
  /** Regions with a link to this one, or with a route through others. */
  regions(): Iterable<string>;
  /** The incarnation of a region. */
  originOf(region: string): Uint8Array | undefined;
  /** To the region, or to the next one on the route. */
  send(region: string, frame: TokensWanted | TokensAnswer): void;
}

export interface TokenBrokerOptions {
  readonly engine: Engine;
  readonly region: string;
  readonly origin: Uint8Array;
  readonly book: PolicyBook;
  readonly peers: QuotaPeers;
  readonly skewBoundMs: number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
  /** Undefined where there is no disk. */
  readonly durable?: (shard: number) => number;
  /** A caller waits until the change that was just made is on disk. */
  readonly flushSoon?: () => void;
  readonly events?: TokenBrokerEvents;
}

/** What becomes of tokens, for metrics. Must not throw. */
export interface TokenBrokerEvents {
  /** Tokens were put into a local balance. */
  filled(policy: Policy, amount: number): void;
  /** Tokens beyond the limit were put into a local balance, because the allocator could not be reached. */
  admitted(policy: Policy, amount: number): void;
  /** No region had tokens. */
  denied(policy: Policy): void;
  /** Tokens were granted to a region that had asked. */
  granted(policy: Policy, region: string, amount: number): void;
  /** Idle tokens were granted back to the allocator. */
  returned(policy: Policy, region: string, amount: number): void;
  /** A region answered a request with this many tokens, after this time. */
  received(policy: Policy, region: string, amount: number, waitedMs: number): void;
}
