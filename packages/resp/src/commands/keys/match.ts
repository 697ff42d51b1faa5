import { globMatches } from './glob.js';

const STAR = 42;

/** A test for keys by pattern; undefined where the pattern takes every key, so that nothing need be compared. */
export function keyFilter(pattern: Uint8Array): ((key: Uint8Array) => boolean) | undefined {
  if (pattern.length === 1 && pattern[0] === STAR) return undefined;
  return (key) => globMatches(pattern, key);
}
