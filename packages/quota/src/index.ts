export type { Calendar, CalendarUnit } from '@quotadb/engine';
export {
  type Allotment,
  AllotmentKey,
  allotmentOf,
  MAXIMUM_SUBJECT_BYTES,
  nameOfAllotment,
  subjectOfAllotment,
  subjectOfMarks,
} from './allotment.js';
export type { CatalogueReader, SavedBook, SavedPolicies } from './book-options.js';
export type { QuotaPeers, TokenBrokerEvents } from './broker-options.js';
export {
  DEFINE_SYNTAX,
  type PartialDefinition,
  parseDefinition,
  printDefinition,
  USUAL_WAIT_MS,
} from './definition-words.js';
export type { Awaited, DivideContext, Divided, KnownServer } from './divisions.js';
export { FrameGate } from './frame-gate.js';
export { KeptKind, KeptRecords } from './kept-records.js';
export { type Acquired, type LeaseRequest, Leases, type Renewed, TOO_MANY_LEASES } from './leases.js';
export { type ChangeMark, Ledger } from './ledger.js';
export type { HomeView } from './lost-incarnations.js';
export * from './operations.js';
export { settleOverrides } from './override-changes.js';
export { limitOf } from './override-table.js';
export { PendingRemint, REMINT_TIMEOUT_MS } from './pending-remint.js';
export * from './policy.js';
export { type DefinitionSource, PolicyBook } from './policy-book.js';
export { type PolicyEnvelope, writeEnvelope } from './policy-envelope.js';
export {
  checkPolicySet,
  isRegion,
  isWhole,
  MAXIMUM_CATALOGUE_BYTES,
  PolicyError,
  type PolicySet,
  type RegionState,
} from './policy-set.js';
export { findAmountMistake, type Refunded, Refunds } from './refunds.js';
export { nameOfOperation, type Operation, Repeats } from './repeats.js';
export * from './request-mistakes.js';
export {
  type Lapse,
  MAXIMUM_RESERVATION_MS,
  Reservations,
  type Reserved,
  type ReserveRequest,
  type Settlement,
} from './reservations.js';
export { type HeldPolicies, MAXIMUM_HOPS, type Reach, Routes, textOfReaches } from './routes.js';
export { checkSeal, type Seal, type Seals, textOfSet } from './seals.js';
export {
  checkShared,
  digestOfShared,
  isEmptyShared,
  newerOf,
  nextStamp,
  type SharedPolicy,
  type SharedSet,
} from './shared-policies.js';
export { FIRST_STAMP, type Stamp } from './stamps.js';
export * from './take-request.js';
export { Taker, Verdict } from './taker.js';
export { TokenBroker } from './token-broker.js';
export type { LimitWindow, UsageRecorder } from './usage-recorder.js';
