import { slotOfKey } from '@quotadb/cluster';
import type { DecideRequest, FixedWindow, LimitStore } from '@quotadb/envoy';
import { type Decision, type DecisionRefusal, type Item, isRefusal, summarise } from '@quotadb/limits';
import type { AnyGroup } from './any-group.js';
import { COUNT_PATH, DECIDE_PATH, type DecisionAnswer, describeItem, readDecision } from './carried-operations.js';
import type { EnvoyLimitStore } from './limit-store.js';

/** In place of a slot: all slots of this group. */
const HERE = -1;

/** Items that are decided together: those of this group, or those of one slot of another. */
interface Part {
  readonly items: Item[];
  /** Their places in the request. */
  readonly places: number[];
}

/**
 * The counters of Envoy's limits in a cluster. Each is in the group that owns the slot of its name, and is charged
 * there. Where a request has limits of several parts, all are looked at before any is charged.
 */
export class GroupedLimitStore implements LimitStore {
  private readonly here: EnvoyLimitStore;
  private readonly groups: AnyGroup;

  constructor(here: EnvoyLimitStore, groups: AnyGroup) {
    this.here = here;
    this.groups = groups;
  }

  nowMs(): number {
    return this.here.nowMs();
  }

  get hasUsage(): boolean {
    return this.here.hasUsage;
  }

  /** Every server exports what it has admitted itself, whichever group counts it. */
  countUsage(window: FixedWindow, amount: number): boolean {
    return this.here.countUsage(window, amount);
  }

  whenDurable(): Promise<void> | undefined {
    return this.here.whenDurable();
  }

  addFixed(counter: string, windowMs: number, amount: number): number | Promise<number> {
    const { here, groups } = this;
    const subject = Buffer.from(counter);
    if (groups.cluster.isHere(subject)) return here.addFixed(counter, windowMs, amount);
    return groups.run({
      subjects: [subject],
      waitMs: 0,
      here: async () => here.addFixed(counter, windowMs, amount),
      method: 'POST',
      target: COUNT_PATH,
      body: { counter, windowMs, amount },
      read: ({ count }: { readonly count: number }) => count,
    });
  }

  async decide(request: DecideRequest): Promise<Decision | DecisionRefusal> {
    if (this.partsOf(request.items).length === 1) return this.decidePart(request);
    if (!request.isPeek) {
      const looked = await this.decideParts({ ...request, isPeek: true });
      if (isRefusal(looked) || !looked.allowed) return looked;
    }
    return this.decideParts(request);
  }

  private partsOf(items: readonly Item[]): readonly Part[] {
    const { cluster } = this.groups;
    const parts = new Map<number, Part>();
    for (const [place, item] of items.entries()) {
      const slot = cluster.isHere(item.subject) ? HERE : slotOfKey(item.subject, 0, item.subject.length);
      const part = parts.get(slot) ?? { items: [], places: [] };
      parts.set(slot, part);
      part.items.push(item);
      part.places.push(place);
    }
    return [...parts.values()];
  }

  private async decideParts(request: DecideRequest): Promise<Decision | DecisionRefusal> {
    const parts = this.partsOf(request.items);
    const decisions = await Promise.all(parts.map(({ items }) => this.decidePart({ ...request, items })));
    const items: Decision['items'][number][] = [];
    for (const [index, { places }] of parts.entries()) {
      const decision = decisions[index] as Decision | DecisionRefusal;
      if (isRefusal(decision)) return decision;
      for (const [at, place] of places.entries()) items[place] = decision.items[at] as Decision['items'][number];
    }
    return summarise(items);
  }

  private decidePart({ items, isPeek, waitMs }: DecideRequest): Promise<Decision | DecisionRefusal> {
    return this.groups.run<Decision | DecisionRefusal>({
      subjects: items.map(({ subject }) => subject),
      waitMs: waitMs ?? 0,
      here: () => this.here.decide({ items, isPeek, waitMs }),
      method: 'POST',
      target: DECIDE_PATH,
      body: { items: items.map(describeItem), peek: isPeek, waitMs },
      read: (answer: DecisionAnswer) => readDecision(answer),
    });
  }
}
