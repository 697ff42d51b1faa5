import type { Engine, Status } from '@quotadb/engine';
import { Attempts, type Catalogue, type Decision, EMPTY_CATALOGUE, type Item, Resolution } from '@quotadb/limits';
import type { Policy } from '@quotadb/quota';
import type { Refused } from './held-replies.js';
import type { LaneQuotas } from './lane-quotas.js';

/** One check of a limit or a domain, as a client asks for it. */
export interface LimitCheck {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly cost: number;
  /** How long to wait for tokens of other regions; as the limits say where it is left out. */
  readonly waitMs?: number | undefined;
  readonly isPeek: boolean;
  /** The name that the caller gives to the leases that it takes, where there are limits on those. */
  readonly lease?: string | undefined;
}

/** A lease that a check has taken. */
export interface LeaseOfCheck {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly lease: string;
}

/** Requests of lanes to the main thread, which has the token broker and the way to the home of policies. */
export type LimitRequest =
  | ({ readonly kind: 'check' } & LimitCheck)
  /** Ends the leases that a check has taken under this name. */
  | ({ readonly kind: 'release' } & LeaseOfCheck)
  /** One-way: items in shadow of a request that is decided, which the lane had too few tokens for. */
  | { readonly kind: 'chargeLate'; readonly items: readonly Item[] }
  /** YAML or JSON of the whole catalogue, or of one limit. */
  | { readonly kind: 'load'; readonly text: string }
  | { readonly kind: 'set'; readonly text: string }
  | { readonly kind: 'drop'; readonly name: string };

export type LimitAnswer =
  | Refused
  /** The engine refused to count. */
  | { readonly status: Status }
  | { readonly decision: Decision }
  /** A change was made; false where there was nothing to drop or to release. */
  | { readonly changed: boolean };

/** Limits as one lane sees them: the catalogue, compiled, and what decides on the counters of this node. */
export class LaneLimits {
  private readonly quotas: LaneQuotas;
  private readonly publishPercent: () => number;
  private compiledFrom: unknown = undefined;
  private compiled = new Resolution(EMPTY_CATALOGUE);
  private namedFrom: readonly Policy[] | undefined = undefined;
  private named: ReadonlyMap<string, Policy> = new Map();
  private ownAttempts: Attempts | undefined = undefined;

  constructor(quotas: LaneQuotas, publishPercent: () => number) {
    this.quotas = quotas;
    this.publishPercent = publishPercent;
  }

  /** Compiled when it is first used after a change. */
  get resolution(): Resolution {
    const { catalogue } = this.quotas;
    if (catalogue === this.compiledFrom) return this.compiled;
    this.compiled = new Resolution((catalogue as Catalogue | undefined) ?? EMPTY_CATALOGUE);
    this.compiledFrom = catalogue;
    return this.compiled;
  }

  attempts(engine: Engine): Attempts {
    const { publishPercent, quotas } = this;
    const policyOf = (name: string) => this.policyOf(name);
    this.ownAttempts ??= new Attempts({ engine, policyOf, publishPercent, usage: quotas.usage(engine) });
    return this.ownAttempts;
  }

  private policyOf(name: string): Policy | undefined {
    const { list } = this.quotas.policies;
    if (list !== this.namedFrom) {
      this.namedFrom = list;
      this.named = new Map(list.map((policy) => [policy.name, policy]));
    }
    return this.named.get(name);
  }
}
