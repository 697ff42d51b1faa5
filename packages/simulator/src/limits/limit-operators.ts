import type { Random } from '@quotadb/engine/testing';
import { type Catalogue, type LimitEntry, unstampLimit } from '@quotadb/limits';
import type { LimitCluster } from './limit-cluster.js';
import { limitsOf } from './limit-service.js';
import { JOBS, STARTS, TRIED, USER } from './plan.js';

const MOST_LEASES = 6;

function isOfLeases({ kind }: LimitEntry): boolean {
  return kind === 'concurrency';
}

/** Operators who change the catalogue at its home while clients ask. */
export class LimitOperators {
  private readonly cluster: LimitCluster;

  constructor(cluster: LimitCluster) {
    this.cluster = cluster;
  }

  /** Undefined where the home is down, or has lost it. */
  get catalogue(): Catalogue | undefined {
    const home = this.cluster.nodes[0].running;
    return home && limitsOf(home).catalogue;
  }

  changeLimit(random: Random): void {
    const limit = 1 + random.below(2 * this.cluster.plan.limit);
    this.change(random, (entry) => ({ ...entry, limit: isOfLeases(entry) ? 1 + (limit % MOST_LEASES) : limit }));
  }

  /** One more override, or one less, or none. */
  override(random: Random): void {
    this.change(random, (entry) => ({ ...entry, overrides: this.drawOverrides(entry, random) }));
  }

  /** A limit in shadow begins to deny, or one that denied is in shadow; or it is not checked any more. */
  toggle(random: Random): void {
    this.change(random, (entry) =>
      isOfLeases(entry)
        ? entry
        : random.chance(0.5)
          ? { ...entry, shadow: !(entry.shadow ?? false) }
          : { ...entry, enabled: !(entry.enabled ?? true) },
    );
  }

  /** A limit that was dropped is there again, as it was at first. */
  dropLimit(random: Random): void {
    const { catalogue } = this;
    const { limits } = this.cluster.plan.catalogue;
    const gone = limits.find(({ name }) => !catalogue?.limits.some((entry) => entry.name === name));
    if (gone !== undefined) this.cluster.changeCatalogue({ set: gone });
    else this.cluster.changeCatalogue({ drop: random.pick([USER, TRIED]) });
  }

  private change(random: Random, changed: (entry: LimitEntry) => LimitEntry): void {
    const { catalogue } = this;
    if (catalogue === undefined || catalogue.limits.length === 0) return;
    this.cluster.changeCatalogue({ set: changed(unstampLimit(random.pick(catalogue.limits))) });
  }

  private drawOverrides(entry: LimitEntry, random: Random): LimitEntry['overrides'] {
    const { overrides = [], name } = entry;
    if (random.chance(0.15)) return [];
    const { subjects, limit } = this.cluster.plan;
    const users = [...subjects, 'acme*', '*'];
    const isOfUsers = [USER, TRIED, JOBS, STARTS].includes(name);
    const subject = random.pick(isOfUsers ? users : ['acme', 'zeta*', '*']);
    const isPlan = random.chance(0.2);
    const others = overrides.filter((override) =>
      isPlan ? override.plan === undefined : override.subject !== subject,
    );
    if (random.chance(0.15)) return others;
    const isLeased = isOfLeases(entry);
    const amount = random.below(isLeased ? MOST_LEASES : 2 * limit);
    if (isPlan) return [...others, { plan: 'pro', limit: amount }];
    return [
      ...others,
      { subject, limit: amount, ...(random.chance(0.3) && !isLeased && { from: 'next-window' as const }) },
    ];
  }
}
