export { type Allotment, AllotmentKey, MAXIMUM_SUBJECT_BYTES, nameOfAllotment } from './allotment.js';
export type { QuotaPeers, TokenBrokerEvents, TokenBrokerOptions } from './broker-options.js';
export {
  DEFINE_SYNTAX,
  type PartialDefinition,
  parseDefinition,
  printDefinition,
  USUAL_WAIT_MS,
} from './definition-words.js';
export { FrameGate, type Sender } from './frame-gate.js';
export { KeptKind, KeptRecords } from './kept-records.js';
export { type Acquired, type LeaseRequest, Leases, type Renewed } from './leases.js';
export { type ChangeMark, Ledger } from './ledger.js';
export * from './operations.js';
export * from './policy.js';
export { PolicyBook, type RegionState, type SavedBook, type SavedPolicies } from './policy-book.js';
export { type PolicyEnvelope, writeEnvelope } from './policy-envelope.js';
export {
  checkDefinition,
  checkPolicySet,
  isRegion,
  isWhole,
  PolicyError,
  type PolicySet,
} from './policy-set.js';
export { nameOfOperation, type Operation, REPEAT_WINDOW_MS, Repeats } from './repeats.js';
export {
  type Lapse,
  MAXIMUM_RESERVATION_MS,
  Reservations,
  type Reserved,
  type ReserveRequest,
  type Settlement,
} from './reservations.js';
export { MAXIMUM_HOPS, type Reach, Routes } from './routes.js';
export { checkSeal, type Seal, type Seals, textOfSet } from './seals.js';
export { Taker, Verdict } from './taker.js';
export { TokenBroker } from './token-broker.js';
