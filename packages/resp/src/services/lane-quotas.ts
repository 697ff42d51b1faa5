import type { Engine } from '@quotadb/engine';
import {
  type LeaseRequest,
  type PartialDefinition,
  type Policy,
  type ReserveRequest,
  type SharedSet,
  type TakeRequest,
  Taker,
} from '@quotadb/quota';
import { UsageCounter } from '@quotadb/usage';
import type { Refused } from './held-replies.js';
import { PolicyTable } from './policy-table.js';

/** Requests of lanes and HTTP to the thread that runs quotas; the answer is plain data or an error message. */
export type QuotaRequest =
  /** With an id, a repeated request is not run again and gets the first answer. */
  | ({ readonly kind: 'take'; readonly id?: string | undefined } & TakeRequest)
  | ({ readonly kind: 'reserve'; readonly id?: string | undefined } & ReserveRequest)
  | { readonly kind: 'commit'; readonly reservation: string; readonly actual: number }
  | { readonly kind: 'cancel'; readonly reservation: string }
  | ({ readonly kind: 'acquire'; readonly id?: string | undefined } & LeaseRequest)
  | { readonly kind: 'renew'; readonly lease: string; readonly ttlMs: number; readonly waitMs: number | undefined }
  | { readonly kind: 'release'; readonly lease: string }
  | { readonly kind: 'peek'; readonly name: string; readonly subject: Uint8Array }
  /** Where it is shared, the home answers with the SharedChange that other groups of the cluster need. */
  | { readonly kind: 'define'; readonly definition: PartialDefinition; readonly isShared?: true | undefined }
  | { readonly kind: 'drop'; readonly name: string; readonly isShared?: true | undefined }
  /** A change of the catalogue of limits, and of its policies with it; null takes it away. */
  | {
      readonly kind: 'catalogue';
      readonly change: unknown;
      readonly isAtStart?: boolean;
      readonly isShared?: true | undefined;
    }
  /** At the home: policies of another group of the cluster, of which those hold that are newer. */
  | { readonly kind: 'shared'; readonly shared: unknown }
  /** At the home: its own policies hold, or those that a region has sent and it has refused. */
  | { readonly kind: 'home'; readonly takeFrom?: string | undefined }
  | { readonly kind: 'describeHome' }
  /** At the home: it inherits the tokens of these regions, which are lost for good. */
  | { readonly kind: 'remint'; readonly name: string; readonly lost: readonly string[] }
  | { readonly kind: 'info'; readonly name: string; readonly subject: Uint8Array | undefined }
  /** A page of the subjects with an allotment in the current window. */
  | { readonly kind: 'subjects'; readonly name: string; readonly cursor: string; readonly count: number }
  /** Tokens that were spent in this region come back, as many as it has spent. */
  | (Adjustment & { readonly kind: 'refund'; readonly amount: number })
  /** All that were spent come back: in one region, or in every one that can be reached. */
  | (Adjustment & { readonly kind: 'reset'; readonly region?: string | undefined })
  /** At the home: tokens beside the limit, in the current window. */
  | (Adjustment & { readonly kind: 'extra'; readonly amount: number })
  /** The last adjustments of tokens in this region. */
  | { readonly kind: 'events'; readonly count: number }
  /** The tokens that another region has set aside and not spent. */
  | { readonly kind: 'unspent'; readonly region: string; readonly name: string; readonly subject: Uint8Array };

/** The answer to a change that is shared: what it is without that, and the change for other groups. */
export interface SharedChange {
  readonly value: unknown;
  readonly shared: SharedSet;
}

/** A change of the tokens of one subject, by the word of a user. */
interface Adjustment {
  readonly name: string;
  readonly subject: Uint8Array;
  /** The user who asks for it. */
  readonly by: string;
  readonly id?: string | undefined;
}

/** One adjustment that was made, or refused with an error. */
export interface QuotaEvent {
  readonly atMs: number;
  /** quota.refund, quota.reset or quota.extra. */
  readonly event: string;
  readonly by: string;
  /** The region that passed it on; empty where it was asked for in this one. */
  readonly peer: string;
  readonly quota: string;
  readonly subject: string;
  readonly amount: number;
  readonly id: string;
  readonly error: string;
}

/** The policies, and the catalogue of limits that some of them are of (undefined: there is none). */
export interface PublishedPolicies {
  readonly policies: readonly Policy[];
  readonly catalogue: unknown;
}

export const NO_POLICIES: PublishedPolicies = { policies: [], catalogue: undefined };

/** `isPartial`: a change holds in some groups of the cluster and not yet in others. */
export type QuotaAnswer = (Refused & { readonly isPartial?: true | undefined }) | { readonly value: unknown };

/** Quotas as one lane sees them: the policies with their catalogue, and the local balances. */
export class LaneQuotas {
  readonly policies = new PolicyTable();
  /** Another object after every change of the policies, so a lane can keep an index of it until then. */
  catalogue: unknown = undefined;
  private readonly countsUsage: boolean;
  private ownTaker: Taker | undefined = undefined;
  private ownUsage: UsageCounter | undefined = undefined;

  constructor(published: PublishedPolicies = NO_POLICIES, countsUsage = false) {
    this.replace(published);
    this.countsUsage = countsUsage;
  }

  replace({ policies, catalogue }: PublishedPolicies): void {
    this.policies.replace(policies);
    this.catalogue = catalogue;
  }

  taker(engine: Engine): Taker {
    this.ownTaker ??= this.newTaker(engine);
    return this.ownTaker;
  }

  /** Undefined where no usage is exported. */
  usage(engine: Engine): UsageCounter | undefined {
    if (this.countsUsage) this.ownUsage ??= new UsageCounter(engine);
    return this.ownUsage;
  }

  private newTaker(engine: Engine): Taker {
    const taker = new Taker(engine);
    taker.usage = this.usage(engine);
    return taker;
  }
}
