import type { EngineOptions } from '../keys/engine.js';

/**
 * Where in memory the stores of schedules and histories lie: anywhere below 4 MB, unless a test has chosen a place for
 * all that follow in its file.
 */
export const placement: Partial<Pick<EngineOptions, 'maxMemoryBytes' | 'pagesFromByte'>> = {};

export function placeStores(chosen: typeof placement): void {
  Object.assign(placement, chosen);
}
