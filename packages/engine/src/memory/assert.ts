/** A broken invariant is a bug in QuotaDB, never bad input: it throws, and nothing catches it on purpose. */
export function assert(condition: boolean, invariant: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${invariant}`);
}
