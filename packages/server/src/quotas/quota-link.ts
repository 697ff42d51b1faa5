import type { Engine } from '@quotadb/engine';
import {
  type Allotment,
  type Definition,
  type LeaseRequest,
  type Policy,
  type ReserveRequest,
  type TakeRequest,
  Taker,
} from '@quotadb/quota';
import { PolicyTable } from './policy-table.js';

/** What a lane, or HTTP, can ask of the thread that keeps quotas; answered with plain data, or with an error in words. */
export type QuotaRequest =
  /** With an id, a repetition is not done again and gets the first answer. */
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
  | { readonly kind: 'info'; readonly name: string; readonly subject: Uint8Array | undefined };

/** Where no allocator is named it is the home. */
export type PartialDefinition = Omit<Definition, 'allocator'> & { readonly allocator: string | undefined };

export type QuotaAnswer = { readonly error: string } | { readonly value: unknown };

export interface QuotaCarrier {
  ask(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void;
  /** A pocket runs low. Nobody waits for anything. */
  foresee(cell: Allotment, target: number): void;
}

/** Quotas as one lane sees them: the policies, pockets to spend from, and the way to the thread that fills those. */
export class QuotaLink {
  readonly policies = new PolicyTable();
  private readonly carrier: QuotaCarrier;
  private ownTaker: Taker | undefined = undefined;

  constructor(carrier: QuotaCarrier, policies: readonly Policy[] = []) {
    this.carrier = carrier;
    this.policies.replace(policies);
  }

  /** A server without quotas. */
  static none(): QuotaLink {
    return new QuotaLink({
      ask: (_, answered) => answered({ error: 'there are no quotas here' }),
      foresee: () => {},
    });
  }

  taker(engine: Engine): Taker {
    this.ownTaker ??= new Taker(engine);
    return this.ownTaker;
  }

  ask(request: QuotaRequest, answered: (answer: QuotaAnswer) => void): void {
    this.carrier.ask(request, answered);
  }

  foresee(cell: Allotment, target: number): void {
    this.carrier.foresee(cell, target);
  }
}
