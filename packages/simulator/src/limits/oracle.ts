import type { Catalogue } from '@quotadb/limits';
import { type Allotment, type Policy, windowStartMs } from '@quotadb/quota';
import { QuotaOracle } from '../quotas/oracle.js';
import { isWaiting, limitByRule, type Rule, ruleOf } from './model.js';

/** The oracle of quotas, with the limits that the catalogue gives by the guide, whatever the policies have. */
export class LimitOracle extends QuotaOracle {
  /** By number of the policy: every version of its limit. */
  private readonly rules = new Map<number, Rule[]>();
  /** By name of the limit: its last version. */
  private readonly last = new Map<string, Rule>();
  private readonly policies = new Map<number, Policy>();

  /** The home has this catalogue from now on, and these policies for it. */
  changed({ limits, plans }: Catalogue, policies: readonly Policy[], nowMs: number): void {
    for (const entry of limits) {
      const policy = policies.find(({ name }) => name === entry.name);
      if (policy === undefined) continue;
      const rule = ruleOf(entry, plans, this.last.get(entry.name), nowMs);
      const isOther = this.policies.get(policy.number)?.name !== entry.name;
      this.last.set(entry.name, rule);
      this.policies.set(policy.number, policy);
      this.rules.set(policy.number, [...(isOther ? [] : (this.rules.get(policy.number) ?? [])), rule]);
      this.defined(policy);
    }
  }

  /** The highest number that a policy ever had. */
  get highestNumber(): number {
    return Math.max(0, ...this.policies.keys());
  }

  override limitOf({ policy, subject, window }: Allotment): number {
    const known = this.policies.get(policy);
    if (known === undefined) return 0;
    const startMs = windowStartMs(known, window);
    const name = Buffer.from(subject).toString();
    return Math.max(0, ...(this.rules.get(policy) ?? []).map((rule) => limitByRule(rule, name, startMs)));
  }

  /** By the last version alone; the highest of all while an override waits for the next window. */
  lastLimitOf(allotment: Allotment): number {
    const rule = this.rules.get(allotment.policy)?.at(-1);
    const policy = this.policies.get(allotment.policy);
    if (rule === undefined || policy === undefined) return 0;
    const startMs = windowStartMs(policy, allotment.window);
    if (isWaiting(rule, startMs)) return this.limitOf(allotment);
    return limitByRule(rule, Buffer.from(allotment.subject).toString(), startMs);
  }

  /** The most that may be in force from now on, where all regions know the last version. */
  mostFromNow(allotment: Allotment): number {
    const more = this.mostOf(allotment) - this.limitOf(allotment);
    return Math.max(this.inForce(allotment), this.lastLimitOf(allotment) + more);
  }
}
