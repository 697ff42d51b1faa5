import {
  type Catalogue,
  Decider,
  type DeciderOptions,
  type Item,
  type ItemDecision,
  Resolution,
} from '@quotadb/limits';
import { QuotaService, type QuotaServiceOptions } from '../quotas/quota-service.js';
import type { NodeProcess } from '../world/process.js';

/** Shows the oracle which limits in shadow are charged after the answer. */
class ObservedDecider extends Decider {
  readonly late = new WeakSet<Item>();
  private readonly charged: (item: Item) => void;

  constructor(options: DeciderOptions, charged: (item: Item) => void) {
    super(options);
    this.charged = charged;
  }

  override chargeLate(item: Item, done: (late: ItemDecision) => void = () => {}): void {
    this.late.add(item);
    super.chargeLate(item, (late) => {
      if (late.allowed) this.charged(item);
      done(late);
    });
  }
}

/** The quotas of one process, and the decisions on limits over them, put together as in a server. */
export class LimitService extends QuotaService {
  readonly decider: ObservedDecider;
  private resolved: Resolution | undefined = undefined;

  constructor(options: QuotaServiceOptions, charged: (item: Item) => void) {
    super(options);
    const { book, broker, operations, leases } = this;
    const { engine } = options.process;
    const policyOf = (name: string) => book.named(name);
    // No limit of these schedules is of a kind that publishes.
    const publishPercent = () => 0;
    this.decider = new ObservedDecider({ engine, policyOf, publishPercent, operations, leases, broker }, charged);
  }

  get catalogue(): Catalogue | undefined {
    return this.book.catalogue as Catalogue | undefined;
  }

  /** Of the version of the catalogue that this process has. */
  get resolution(): Resolution | undefined {
    const { catalogue } = this;
    if (catalogue !== undefined && this.resolved?.catalogue !== catalogue) this.resolved = new Resolution(catalogue);
    return catalogue && this.resolved;
  }
}

export function limitsOf(process: NodeProcess): LimitService {
  return process.service as LimitService;
}
