import type { AllotmentState } from './allotment-states.js';

/**
 * The part of its rights that a node marks or grants at a time: a crash wastes no more, and the rest can be granted.
 */
const CHUNK_FRACTION = 8;
/**
 * Of a quota without a window a crash wastes tokens for ever. So its portions are a smaller part of the rights, small
 * at first, and double only while one follows the other within this time. A local balance is filled when half of it is
 * spent, so it never has more than two portions: a crash wastes at most a 32nd of the tokens that the node held, or 32,
 * beside those of requests that wait, and about the tokens of a tenth of a second.
 */
const ENDLESS_CHUNK_FRACTION = 64;
const SMALLEST_PORTION = 16;
const PORTION_MS = 50;

/** As much as is needed, or a part of the rights where that is more. */
export function chunkOf(rights: number, need: number): number {
  return Math.min(rights, Math.max(need, Math.ceil(rights / CHUNK_FRACTION)));
}

/** How many tokens to mark for the local balance, of a quota without a window: at least what callers wait for. */
export function endlessPortionOf(state: AllotmentState, rights: number, awaited: number, nowMs: number): number {
  const isBusy = nowMs - state.markedAtMs < PORTION_MS;
  const largest = Math.max(SMALLEST_PORTION, Math.floor(rights / ENDLESS_CHUNK_FRACTION));
  const portion = isBusy ? state.portion * 2 : Math.floor(state.portion / 2);
  state.portion = Math.min(largest, Math.max(SMALLEST_PORTION, portion));
  state.markedAtMs = nowMs;
  return Math.min(rights, Math.max(awaited, state.portion));
}
