/** What the simulator of the whole cluster shares with the engine's own: the oracle, and eyes for what a store holds. */
export { checkConsistency } from './check-consistency.js';
export { componentsOf, type HeldComponent, recordOf } from './inspect.js';
export { INCREMENTS_PER_KEY, type Increment, Ledger } from './ledger.js';
export { MISTAKES } from './mistakes.js';
export { Random } from './random.js';
export { valueOfOpen, withKey } from './single-key.js';
