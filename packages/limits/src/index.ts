/**
 * Limits as data, without a protocol: RESP, HTTP and Envoy's services are adapters over this package.
 *
 *   catalogue    limits as they are written: schema, rules, all mistakes of a text with their lines
 *   resolution   one version of a catalogue, compiled: what a name and a subject are checked against; its quotas
 *   decision     one decision of a request against several limits of any kinds: all are charged or none
 *
 * A decision on one thread's counters takes the locks of these counters, a look-up and an addition for each, and never
 * waits; where tokens of an exact limit have to come from elsewhere, `Decider` waits with nothing charged.
 */
export { readCatalogue, readLimit } from './catalogue/read.js';
export { type Catalogue, EMPTY_CATALOGUE, type LimitEntry } from './catalogue/schema.js';
export { type Attempted, Attempts } from './decision/attempt.js';
export { Counters, subjectOfCounter } from './decision/counters.js';
export {
  type DecideRequest,
  Decider,
  type DeciderOptions,
  isRefusal,
  operationOf,
  wantsLease,
} from './decision/decider.js';
export {
  type Decision,
  type DecisionRefusal,
  type Item,
  type ItemDecision,
  MAXIMUM_ITEMS,
  type Standing,
} from './decision/decision.js';
export { COUNTER_PREFIX, subjectOfIdentifier } from './decision/identifiers.js';
export { summarise } from './decision/summarise.js';
export { type CatalogueChange, catalogueReader } from './resolution/reader.js';
export { Resolution, type Target } from './resolution/resolution.js';
export { unstamp, unstampLimit } from './resolution/stamp.js';
