/** The keys and tokens of slots that move, for simulations: the server itself has them in MovingService. */
export { MovingAllotments } from '../quotas/moving-allotments.js';
export { countEntries } from './moving/received-entries.js';
export { SlotKeys } from './moving/slot-keys.js';
export { slotOfStored } from './stored/occupied-slots.js';
