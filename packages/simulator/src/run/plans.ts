import { simulateCounters } from '../counters/counter-simulation.js';
import { COUNTER_MISTAKES } from '../counters/mistakes.js';
import { simulateLimits } from '../limits/limit-simulation.js';
import { LIMIT_MISTAKES } from '../limits/mistakes.js';
import { MOVE_MISTAKES } from '../moves/mistakes.js';
import { simulateMoves } from '../moves/move-simulation.js';
import { ADJUSTMENT_MISTAKES } from '../quotas/adjustment-mistakes.js';
import { MEMBER_MISTAKES } from '../quotas/member-mistakes.js';
import { LEASE_MISTAKES, QUOTA_MISTAKES } from '../quotas/mistakes.js';
import { simulateAdjustments, simulateLeases, simulateMembers, simulateQuotas } from '../quotas/quota-simulation.js';
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
  adjustments: { simulate: simulateAdjustments, mistakes: ADJUSTMENT_MISTAKES, flag: ' --adjustments' },
  members: { simulate: simulateMembers, mistakes: MEMBER_MISTAKES, flag: ' --members' },
  limits: { simulate: simulateLimits, mistakes: LIMIT_MISTAKES, flag: ' --limits' },
  moves: { simulate: simulateMoves, mistakes: MOVE_MISTAKES, flag: ' --moves' },
  rates: { simulate: simulateRates, mistakes: RATE_MISTAKES, flag: ' --rates' },
} as const satisfies Record<string, PlanKind>;

export type PlanName = keyof typeof PLANS;
