import { freshSeed } from '@quotadb/wire/testing';
import type { Mistake, Outcome, SimulationOptions } from '../world/cluster.js';

type Simulate = (seed: number, options?: SimulationOptions) => Promise<Outcome>;

export const SEED_SPACE = 2 ** 31;

/** Schedules that no test has run before. */
export function freshSeeds(count: number): number[] {
  return seedsFrom(1_000_000 + freshSeed(SEED_SPACE - 1_000_000 - count), count);
}

export function seedsFrom(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

/** The seeds whose schedules fail, each with its first failure. */
export async function findFailing(simulate: Simulate, seeds: Iterable<number>): Promise<string[]> {
  const failing: string[] = [];
  for (const seed of seeds) {
    const { failures } = await simulate(seed);
    if (failures.length > 0) failing.push(`seed ${seed}: ${failures[0]}`);
  }
  return failing;
}

/** Whether one of these schedules fails with a mistake planted. */
export async function isFound(simulate: Simulate, mistake: Mistake, seeds: Iterable<number>): Promise<boolean> {
  for (const seed of seeds) if ((await simulate(seed, mistake)).failures.length > 0) return true;
  return false;
}
