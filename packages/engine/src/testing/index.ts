/** Shared with the simulator of whole clusters: the oracle, planted mistakes, and ways to look into a store. */
export { checkConsistency } from './check-consistency.js';
export { componentsOf, type HeldComponent, recordOf } from './inspect.js';
export { type Increment, Ledger } from './ledger.js';
export { MISTAKES } from './mistakes.js';
export { Random } from './random.js';
export { valueOfOpen, withKey } from './single-key.js';
