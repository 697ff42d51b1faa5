export type { Calendar, CalendarUnit } from '@quotadb/engine';
export {
  type Allotment,
  AllotmentKey,
  allotmentOf,
  MAXIMUM_SUBJECT_BYTES,
  nameOfAllotment,
  subjectOfAllotment,
  subjectOfMarks,
} from './allotments/allotment.js';
export type { CatalogueReader, SavedBook, SavedPolicies } from './home/book-options.js';
export type { HomeView } from './home/lost-incarnations.js';
export { PendingRemint, REMINT_TIMEOUT_MS } from './home/pending-remint.js';
export { type DefinitionSource, PolicyBook } from './home/policy-book.js';
export { KeptKind, KeptRecords } from './ledger/kept-records.js';
export { type ChangeMark, Ledger } from './ledger/ledger.js';
export { type Acquired, type LeaseRequest, Leases, type Renewed, TOO_MANY_LEASES } from './operations/leases.js';
export * from './operations/operations.js';
export { findAmountMistake, type Refunded, Refunds } from './operations/refunds.js';
export { nameOfOperation, type Operation, Repeats } from './operations/repeats.js';
export {
  type Lapse,
  MAXIMUM_RESERVATION_MS,
  Reservations,
  type Reserved,
  type ReserveRequest,
  type Settlement,
} from './operations/reservations.js';
export * from './operations/take-request.js';
export {
  DEFINE_SYNTAX,
  type PartialDefinition,
  parseDefinition,
  printDefinition,
  USUAL_WAIT_MS,
} from './policies/definition-words.js';
export type { Awaited, DivideContext, Divided, KnownServer } from './policies/divisions.js';
export { settleOverrides } from './policies/override-changes.js';
export { limitOf } from './policies/override-table.js';
export * from './policies/policy.js';
export { type PolicyEnvelope, writeEnvelope } from './policies/policy-envelope.js';
export {
  checkPolicySet,
  isRegion,
  isWhole,
  MAXIMUM_CATALOGUE_BYTES,
  PolicyError,
  type PolicySet,
  type RegionState,
} from './policies/policy-set.js';
export * from './policies/request-mistakes.js';
export { type HeldPolicies, MAXIMUM_HOPS, type Reach, Routes, textOfReaches } from './policies/routes.js';
export { checkSeal, type Seal, type Seals, textOfSet } from './policies/seals.js';
export {
  checkShared,
  digestOfShared,
  isEmptyShared,
  newerOf,
  nextStamp,
  type SharedPolicy,
  type SharedSet,
} from './policies/shared-policies.js';
export { FIRST_STAMP, type Stamp } from './policies/stamps.js';
export type { QuotaPeers, TokenBrokerEvents } from './tokens/broker-options.js';
export { FrameGate } from './tokens/frame-gate.js';
export { Taker, Verdict } from './tokens/taker.js';
export { TokenBroker } from './tokens/token-broker.js';
export type { LimitWindow, UsageRecorder } from './tokens/usage-recorder.js';
