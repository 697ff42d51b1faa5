import type { SimulationOptions } from './cluster.js';
import type { Kind } from './kinds.js';

/**
 * Fewer steps that still fail: halves, then quarters and so on are left out for as long as the schedule fails without
 * them. Which failure it is may change on the way; the first one of the smallest schedule is what to look at.
 */
export async function shrink(
  kind: Kind,
  seed: number,
  options: SimulationOptions,
  attempts: number,
): Promise<ReadonlySet<number>> {
  const fails = async (steps: readonly number[]): Promise<boolean> => {
    const outcome = await kind.simulate(seed, { ...options, only: new Set(steps) });
    return outcome.failures.length > 0;
  };
  let steps = kind.stepsOf(seed).map(({ index }) => index);
  let left = attempts;
  for (let pieces = 2; left > 0 && pieces <= steps.length * 2; ) {
    const size = Math.ceil(steps.length / pieces);
    let isSmaller = false;
    for (let from = 0; from < steps.length && left > 0; left--) {
      const without = [...steps.slice(0, from), ...steps.slice(from + size)];
      if (await fails(without)) {
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
