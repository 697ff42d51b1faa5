import type { Decision, ItemDecision } from './decision.js';

/** One decision of those on all items: of the limit that denied or, where none did, of the one with the least left. */
export function summarise(items: readonly ItemDecision[]): Decision {
  const enforced = items.filter(({ shadow }) => !shadow);
  const denying = enforced.filter(({ allowed }) => !allowed);
  const shown = denying[0] ?? scarcest(enforced);
  return {
    allowed: denying.length === 0,
    limit: shown?.limit ?? Number.POSITIVE_INFINITY,
    remaining: shown?.remaining ?? Number.POSITIVE_INFINITY,
    resetMs: shown?.resetMs ?? -1,
    retryAfterMs: retryAfter(denying),
    deniedBy: denying[0]?.name,
    items,
  };
}

function scarcest(items: readonly ItemDecision[]): ItemDecision | undefined {
  let least = items[0] as ItemDecision | undefined;
  for (const item of items) if (least === undefined || item.remaining < least.remaining) least = item;
  return least;
}

/** A retry makes sense when every limit that denies has room again; never, where one never has. */
function retryAfter(denying: readonly ItemDecision[]): number {
  let latest = 0;
  for (const { retryAfterMs } of denying) {
    if (retryAfterMs === -1) return -1;
    latest = Math.max(latest, retryAfterMs);
  }
  return latest;
}
