import { simulateCounters } from '../counters/counter-simulation.js';
import { COUNTER_MISTAKES } from '../counters/mistakes.js';
import { LEASE_MISTAKES, QUOTA_MISTAKES } from '../quotas/mistakes.js';
import { simulateLeases, simulateQuotas } from '../quotas/quota-simulation.js';
import { RATE_MISTAKES } from '../rates/mistakes.js';
import { simulateRates } from '../rates/rate-simulation.js';
import type { Mistake, Outcome, SimulationOptions } from '../world/cluster.js';

/** A use of the replicas, with its own steps, oracle and mistakes. */
interface PlanKind {
  readonly simulate: (seed: number, options?: SimulationOptions) => Promise<Outcome>;
  readonly mistakes: readonly Mistake[];
  /** For the command that replays one of its schedules. */
  readonly flag: string;
}

export const PLANS = {
  counters: { simulate: simulateCounters, mistakes: COUNTER_MISTAKES, flag: '' },
  quotas: { simulate: simulateQuotas, mistakes: QUOTA_MISTAKES, flag: ' --quotas' },
  leases: { simulate: simulateLeases, mistakes: LEASE_MISTAKES, flag: ' --leases' },
  rates: { simulate: simulateRates, mistakes: RATE_MISTAKES, flag: ' --rates' },
} as const satisfies Record<string, PlanKind>;

export type PlanName = keyof typeof PLANS;
