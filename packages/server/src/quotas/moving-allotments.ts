import { allotmentOf, type PolicyBook, type TokenBroker, windowEndMs, windowStartMs } from '@quotadb/quota';
import type { MovingQuotas } from '../cluster/moving/received-entries.js';
import type { SlotEntry } from '../cluster/moving/slot-entries.js';
import type { LocalAnswers } from './local-answers.js';

interface Parts {
  readonly answers: LocalAnswers;
  readonly broker: TokenBroker;
  readonly book: PolicyBook;
}

/**
 * Allotments that move with their slots: the tokens that were used, under the name of the policy, because groups number
 * their policies by themselves. The group that receives them has the rest of its own limit.
 */
export class MovingAllotments implements MovingQuotas {
  private readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  describe(key: Uint8Array): Omit<SlotEntry, 'kind'> | undefined {
    const { book, broker } = this.parts;
    const allotment = allotmentOf(key);
    // Of a policy that was dropped nothing is taken any more.
    const policy = allotment && book.numbered(allotment.policy);
    if (allotment === undefined || policy === undefined) return undefined;
    const name = Buffer.from(policy.name);
    return {
      name: Buffer.concat([Uint8Array.of(name.length), name, allotment.subject]),
      value: BigInt(broker.ledger.used(policy, allotment)),
      at: allotment.window,
      startMs: windowStartMs(policy, allotment.window),
      endMs: windowEndMs(policy, allotment.window),
    };
  }

  adopt({ name: bytes, value, at: window, startMs, endMs }: SlotEntry): void {
    const { book, broker } = this.parts;
    const name = Buffer.from(bytes.subarray(1, 1 + bytes[0])).toString();
    const policy = book.named(name);
    if (policy === undefined) throw new Error(`the policy ${name} is not defined in this group: define it here too`);
    if (windowStartMs(policy, window) !== startMs || windowEndMs(policy, window) !== endMs)
      throw new Error(`the policy ${name} has other windows in this group: define it alike`);
    const subject = bytes.subarray(1 + bytes[0]);
    const isAdopted = broker.ledger.adopt(policy, { policy: policy.number, window, subject }, Number(value));
    if (!isAdopted) throw new Error('an allotment is refused: the memory is full');
  }

  *openSubjects(): Iterable<Uint8Array> {
    const { answers } = this.parts;
    // As nameOfAllotment has it: policy, window, subject.
    for (const names of [answers.openReservations(), answers.leases.outstanding()])
      for (const name of names.keys())
        yield Buffer.from(name.slice(name.indexOf(':', name.indexOf(':') + 1) + 1), 'latin1');
  }

  policiesVersion(): number {
    return this.parts.book.version;
  }

  returnUnspent(isMeant: (subject: Uint8Array) => boolean): void {
    this.parts.broker.returnLocalBalances(isMeant);
  }
}
