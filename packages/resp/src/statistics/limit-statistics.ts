import type { Decision, Item } from '@quotadb/limits';
import { HotIdentifiers } from './hot-identifiers.js';

/** Decisions of one limit. Requests that another limit denied are not among them. */
export interface LimitCounts {
  allowed: number;
  denied: number;
  /** Requests that it would have denied, were it not in shadow. */
  shadowDenied: number;
}

/** By the name of the limit. */
export type DecisionsByLimit = ReadonlyMap<string, Readonly<LimitCounts>>;

interface Counted extends LimitCounts {
  readonly scope: number;
}

/** Names come from the catalogue and from gateways; the oldest are dropped first. */
const MAXIMUM_LIMITS = 2000;

/** The decisions on limits made by this thread. */
export class LimitStatistics {
  /** The subjects that were denied, by limit: see `scopeOfLimit`. */
  readonly denied: HotIdentifiers;
  private readonly counts = new Map<string, Counted>();

  constructor(nowMs: () => number) {
    this.denied = new HotIdentifiers(nowMs);
  }

  get byLimit(): DecisionsByLimit {
    return this.counts;
  }

  note(items: readonly Item[], { allowed: isAllowed, items: decisions }: Decision): void {
    for (let index = 0; index < decisions.length; index++) {
      const { name, allowed, shadow } = decisions[index];
      const { subject } = items[index];
      if (!isAllowed && (allowed || shadow)) continue;
      const counts = this.of(name);
      if (allowed) counts.allowed++;
      else if (shadow) counts.shadowDenied++;
      else counts.denied++;
      if (!allowed) this.denied.note(shadow ? -counts.scope : counts.scope, subject, 0, subject.length, false);
    }
  }

  reset(): void {
    this.counts.clear();
  }

  private of(name: string): Counted {
    const known = this.counts.get(name);
    if (known !== undefined) return known;
    const counts = { allowed: 0, denied: 0, shadowDenied: 0, scope: scopeOfLimit(name) };
    this.counts.set(name, counts);
    if (this.counts.size > MAXIMUM_LIMITS) this.counts.delete(this.counts.keys().next().value as string);
    return counts;
  }
}

/** A number for a name, the same on every thread; its negative stands for the limit in shadow. */
export function scopeOfLimit(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return (hash & 0x3fffffff) + 1;
}

export function addLimits(all: readonly DecisionsByLimit[]): DecisionsByLimit {
  const sums = new Map<string, LimitCounts>();
  for (const [name, { allowed, denied, shadowDenied }] of all.flatMap((decisions) => [...decisions])) {
    const before = sums.get(name) ?? { allowed: 0, denied: 0, shadowDenied: 0 };
    sums.set(name, {
      allowed: allowed + before.allowed,
      denied: denied + before.denied,
      shadowDenied: shadowDenied + before.shadowDenied,
    });
  }
  return sums;
}
