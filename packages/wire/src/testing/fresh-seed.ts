/**
 * A seed below a bound that no test has had before: a new one at every run. In CI it follows from the commit
 * (QUOTADB_FRESH_SEED), so that another run of the same commit meets the same schedules.
 */
export function freshSeed(bound: number): number {
  const given = process.env.QUOTADB_FRESH_SEED;
  if (given === undefined) return Math.floor(Math.random() * bound);
  const seed = Number.parseInt(given, 16);
  if (!Number.isSafeInteger(seed)) throw new Error(`QUOTADB_FRESH_SEED is ${given}; it must be a hexadecimal number`);
  return seed % bound;
}
