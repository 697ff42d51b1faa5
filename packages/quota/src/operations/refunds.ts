import type { Engine } from '@quotadb/engine';
import { type Allotment, MAXIMUM_SUBJECT_BYTES, nameOfAllotment } from '../allotments/allotment.js';
import type { PolicyBook } from '../home/policy-book.js';
import { isLeased, MAXIMUM_LIMIT, type Policy, windowAt } from '../policies/policy.js';
import { noSuchPolicy, SUBJECT_TOO_LONG } from '../policies/request-mistakes.js';
import type { TokenBroker } from '../tokens/token-broker.js';
import type { Leases } from './leases.js';
import type { Operations } from './operations.js';
import type { Reservations } from './reservations.js';
import type { Standing } from './take-request.js';

export type Refunded = { readonly error: string } | { readonly refunded: number; readonly standing: Standing };

export interface RefundsOptions {
  readonly engine: Engine;
  readonly book: PolicyBook;
  readonly broker: TokenBroker;
  readonly operations: Operations;
  readonly reservations: Reservations;
  readonly leases: Leases;
}

/**
 * Tokens that were spent in this region and are to count as unspent, by an operator's word: they are rights of this
 * node again. Never more than it has set aside in this window and neither holds nor keeps for anybody: what was spent,
 * and what a crash has wasted.
 */
export class Refunds {
  private readonly options: RefundsOptions;

  constructor(options: RefundsOptions) {
    this.options = options;
  }

  /**
   * Calls back with the refund when the disk knows all that was spent so far. Of a reservation whose commit a crash
   * forgets the tokens come back once more, so none of those may be refunded: only tokens that were spent before this.
   */
  prepare(name: string, subject: Uint8Array, atMost: number, ready: (refund: () => Refunded) => void): void {
    const { engine, broker, book, operations } = this.options;
    const policy = book.named(name);
    const mistake = findMistake(policy, name, subject, atMost);
    if (policy === undefined || mistake !== undefined) {
      ready(() => ({ error: mistake as string }));
      return;
    }
    const allotment = { policy: policy.number, window: windowAt(policy, operations.nowMs), subject };
    const before = this.spent(allotment);
    broker.durable.whenAll(engine, () => ready(() => this.refund(policy, allotment, Math.min(before, atMost))));
  }

  private refund(policy: Policy, allotment: Allotment, atMost: number): Refunded {
    const { broker, operations } = this.options;
    const refunded = Math.max(0, Math.min(atMost, this.spent(allotment)));
    if (refunded > 0) broker.ledger.refund(policy, allotment, refunded);
    operations.taker.usage?.returned(policy, allotment, refunded);
    const standing = operations.peek(policy.name, allotment.subject);
    return 'error' in standing ? standing : { refunded, standing };
  }

  /** Lanes spend meanwhile: read before the marks, the balance is at most too high, and the result too low. */
  private spent(allotment: Allotment): number {
    const { broker, reservations, leases } = this.options;
    const name = nameOfAllotment(allotment);
    const kept = broker.ledger.balance(allotment) + broker.waitingOf(allotment);
    const held = (reservations.outstanding().get(name) ?? 0) + (leases.outstanding().get(name) ?? 0);
    return broker.ledger.ownMarks(allotment) - kept - held;
  }
}

function findMistake(
  policy: Policy | undefined,
  name: string,
  subject: Uint8Array,
  amount: number,
): string | undefined {
  if (policy === undefined) return noSuchPolicy(name);
  if (isLeased(policy)) return `'${name}' limits leases held at once: QUOTA.RELEASE and LIMIT.RELEASE give one back`;
  if (subject.length > MAXIMUM_SUBJECT_BYTES) return SUBJECT_TOO_LONG;
  return findAmountMistake(amount);
}

/** Infinity: as much as there is. */
export function findAmountMistake(amount: number): string | undefined {
  const isAmount = amount === Number.POSITIVE_INFINITY || (Number.isSafeInteger(amount) && amount >= 1);
  return isAmount ? undefined : `an amount is a whole number from 1 to ${MAXIMUM_LIMIT}`;
}
