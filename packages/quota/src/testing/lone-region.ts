import { Engine } from '@quotadb/engine';
import { PolicyBook } from '../home/policy-book.js';
import { Operations } from '../operations/operations.js';
import type { TokenBrokerOptions } from '../tokens/broker-options.js';
import { TokenBroker } from '../tokens/token-broker.js';

export const SKEW_BOUND_MS = 2000;

export interface LoneRegionOptions extends Pick<TokenBrokerOptions, 'durable'> {
  /** The clock, and the time that never jumps. */
  readonly nowMs: () => number;
  readonly maxMemoryBytes?: number;
  /** Its first life began without peers; a later one waits for what they know. */
  readonly incarnation?: string;
}

export interface LoneRegion {
  readonly engine: Engine;
  readonly book: PolicyBook;
  readonly broker: TokenBroker;
  readonly operations: Operations;
}

const FIRST_INCARNATION = 'a1';

/** A region `a` that is the home of its policies and reaches no other; with a disk where it is said what that holds. */
export function startLoneRegion(options: LoneRegionOptions): LoneRegion {
  const { nowMs: monotonicMs, maxMemoryBytes = 4 * 1024 * 1024, incarnation = FIRST_INCARNATION, durable } = options;
  const nowMs = monotonicMs();
  const region = 'a';
  const origin = new Uint8Array(32).fill(1);
  const skewBoundMs = SKEW_BOUND_MS;
  const engine = Engine.format({ maxMemoryBytes, origin, nowMs, shardCount: 4 });
  const book = new PolicyBook({
    home: region,
    region,
    incarnation,
    isNewIncarnation: true,
    hasDisk: durable !== undefined,
    nowMs,
    skewBoundMs,
    isAlone: incarnation === FIRST_INCARNATION,
    save: () => {},
  });
  const peers = { regions: () => [], originOf: () => undefined, send: () => {} };
  const disk = durable && { durable };
  const broker = new TokenBroker({ engine, region, origin, book, peers, skewBoundMs, monotonicMs, ...disk });
  return { engine, book, broker, operations: new Operations({ engine, book, broker, monotonicMs }) };
}
