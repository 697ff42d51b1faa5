import {
  type Catalogue,
  Decider,
  type DeciderOptions,
  type Item,
  type ItemDecision,
  operationOf,
  Resolution,
} from '@quotadb/limits';
import type { Allotment } from '@quotadb/quota';
import { QuotaService, type QuotaServiceOptions } from '../quotas/quota-service.js';
import type { NodeProcess } from '../world/process.js';

export interface GivenLease {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly allotments: readonly Allotment[];
}

/** Shows the oracle which limits in shadow are charged after the answer, and the leases that were given. */
export class ObservedDecider extends Decider {
  readonly late = new WeakSet<Item>();
  private readonly given: Map<string, GivenLease>;
  private readonly charged: (item: Item) => void;

  constructor(options: DeciderOptions, charged: (item: Item) => void) {
    const { leases } = options;
    const given = new Map<string, GivenLease>();
    super({
      ...options,
      leases: {
        give: (request, allotments) => {
          const { name, subject, operation = '' } = request;
          given.set(operation, { name, subject, allotments });
          return leases.give(request, allotments);
        },
        release: (id) => leases.release(id),
        ofOperation: (operation) => leases.ofOperation(operation),
        get isFull() {
          return leases.isFull;
        },
      },
    });
    this.given = given;
    this.charged = charged;
  }

  /** Those of the decision that is being answered, on these items. */
  takeGiven(items: readonly Item[]): readonly GivenLease[] {
    const operations = items.filter(({ kind }) => kind === 'concurrency').map(operationOf);
    const taken = operations.flatMap((operation) => this.given.get(operation) ?? []);
    for (const operation of operations) this.given.delete(operation);
    return taken;
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
