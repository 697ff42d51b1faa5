export { type Cell, CellKey, MAXIMUM_SUBJECT_BYTES, nameOfCell } from './cell.js';
export { Keeper, type KeeperOptions, type QuotaPeers } from './keeper.js';
export { Ledger } from './ledger.js';
export * from './policy.js';
export { type Definition, PolicyBook, PolicyError, type PolicySet, type SavedBook } from './policy-book.js';
