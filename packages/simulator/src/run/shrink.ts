import type { SimulationOptions } from '../world/cluster.js';
import { PLANS, type PlanName } from './plans.js';

/**
 * Finds fewer steps that still fail: leaves out halves, then quarters and so on, for as long as the schedule fails
 * without them. The failure may become another one on the way; look at the first one of the smallest schedule.
 */
export async function shrink(
  name: PlanName,
  seed: number,
  options: SimulationOptions,
  attempts: number,
): Promise<ReadonlySet<number>> {
  const simulate = (steps?: readonly number[]) =>
    PLANS[name].simulate(seed, { ...options, ...(steps && { only: new Set(steps) }) });
  const { plan } = await simulate([]);
  let steps = plan.steps.map(({ index }) => index);
  let left = attempts;
  for (let pieces = 2; left > 0 && pieces <= steps.length * 2; ) {
    const size = Math.ceil(steps.length / pieces);
    let isSmaller = false;
    for (let from = 0; from < steps.length && left > 0; left--) {
      const without = [...steps.slice(0, from), ...steps.slice(from + size)];
      if ((await simulate(without)).failures.length > 0) {
        steps = without;
        isSmaller = true;
      } else {
        from += size;
      }
    }
    if (!isSmaller) pieces *= 2;
  }
  return new Set(steps);
}
