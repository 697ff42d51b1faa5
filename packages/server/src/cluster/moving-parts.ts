/** The keys and tokens of slots that move, for simulations: the server itself has them in MovingService. */
export { MovingAllotments } from '../quotas/moving-allotments.js';
export { countEntries, type MovingQuotas } from './moving/received-entries.js';
export { type Pace, SlotKeys } from './moving/slot-keys.js';
export { slotOfStored } from './stored/occupied-slots.js';
