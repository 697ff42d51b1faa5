import type { Engine } from '@quotadb/engine';
import {
  type LeaseRequest,
  type PartialDefinition,
  type Policy,
  type ReserveRequest,
  type TakeRequest,
  Taker,
} from '@quotadb/quota';
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
  | { readonly kind: 'define'; readonly definition: PartialDefinition }
  | { readonly kind: 'drop'; readonly name: string }
  /** At the home: its own policies hold, or those that a region has sent and it has refused. */
  | { readonly kind: 'home'; readonly takeFrom?: string | undefined }
  | { readonly kind: 'describeHome' }
  | { readonly kind: 'info'; readonly name: string; readonly subject: Uint8Array | undefined };

export type QuotaAnswer = { readonly error: string } | { readonly value: unknown };

/** Quotas as one lane sees them: the policies, and the local balances. */
export class LaneQuotas {
  readonly policies = new PolicyTable();
  private ownTaker: Taker | undefined = undefined;

  constructor(policies: readonly Policy[] = []) {
    this.policies.replace(policies);
  }

  taker(engine: Engine): Taker {
    this.ownTaker ??= new Taker(engine);
    return this.ownTaker;
  }
}
