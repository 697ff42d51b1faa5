import type { Outcome, SimulationOptions } from './cluster.js';
import { MISTAKES, type Mistake } from './mistakes.js';
import { makePlan } from './plan.js';
import { QUOTA_MISTAKES } from './quotas/quota-mistakes.js';
import { makeQuotaPlan } from './quotas/quota-plan.js';
import { simulateQuotas } from './quotas/quota-simulation.js';
import { simulate } from './simulation.js';

/** What replicas are used for in a schedule. */
export interface Kind {
  readonly simulate: (seed: number, options: SimulationOptions) => Promise<Outcome>;
  readonly stepsOf: (seed: number) => readonly { readonly index: number }[];
  readonly mistakes: readonly Mistake[];
  /** What to add to the command that replays one. */
  readonly flag: string;
}

export const KINDS = {
  counters: { simulate, stepsOf: (seed) => makePlan(seed).steps, mistakes: MISTAKES, flag: '' },
  quotas: {
    simulate: simulateQuotas,
    stepsOf: (seed) => makeQuotaPlan(seed).steps,
    mistakes: QUOTA_MISTAKES,
    flag: ' --quotas',
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
