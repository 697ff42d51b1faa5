import type { AllotmentState } from './allotment-states.js';
import type { Policy } from './policy.js';

/**
 * The part of its rights that a node marks or grants at a time: a crash wastes no more, and the rest can be granted.
 */
const CHUNK_FRACTION = 8;
/**
 * Of a quota without a window a crash wastes tokens for ever. So its portions are small at first, and double only while
 * one follows the other within this time: a crash wastes about the tokens of that time.
 */
const SMALLEST_PORTION = 16;
const PORTION_MS = 250;

/** As much as is needed, or a part of the rights where that is more. */
export function chunkOf(rights: number, need: number): number {
  return Math.min(rights, Math.max(need, Math.ceil(rights / CHUNK_FRACTION)));
}

/** How many tokens to mark for the local balance. */
export function portionOf(
  policy: Policy,
  state: AllotmentState,
  rights: number,
  missing: number,
  nowMs: number,
): number {
  const chunk = chunkOf(rights, missing);
  if (policy.windowMs > 0) return chunk;
  const isBusy = nowMs - state.markedAtMs < PORTION_MS;
  state.portion = Math.max(SMALLEST_PORTION, isBusy ? state.portion * 2 : Math.floor(state.portion / 2));
  state.markedAtMs = nowMs;
  return Math.min(chunk, Math.max(missing, state.portion));
}
