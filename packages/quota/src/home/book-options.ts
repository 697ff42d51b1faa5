import type { PartialDefinition } from '../policies/definition-words.js';
import type { PolicySet } from '../policies/policy-set.js';
import type { Seal } from '../policies/seals.js';
import type { SavedGrantees } from './grantees.js';

/** Policies as they are saved on disk. */
export interface SavedPolicies {
  readonly set: PolicySet | undefined;
  /** The home's, where this region has received it. */
  readonly seal?: Seal | undefined;
}

/** The book as it is saved on disk. */
export interface SavedBook extends SavedPolicies, SavedGrantees {
  /** At the home: it has written the set itself. Left out by earlier versions, whose home always had. */
  readonly isOwn?: boolean | undefined;
  readonly incarnation: string;
  /** When this incarnation began, by its own clock. */
  readonly beganMs: number;
  /**
   * This incarnation takes no initial rights of policies defined before this: it may have spent them, and lost its
   * file.
   */
  readonly startsFromMs: number;
  /** Since when no other server runs under the name of this region, as far as peers know. Absent: always. */
  readonly heldFromMs?: number;
  /** Another one runs, or did when this was saved. */
  readonly isSuspended?: boolean;
}

export interface PolicyBookOptions {
  readonly home: string;
  readonly region: string;
  readonly incarnation: string;
  /** False where this incarnation has run before: if nothing is saved of it, its file is lost. */
  readonly isNewIncarnation: boolean;
  readonly hasDisk: boolean;
  readonly nowMs: number;
  readonly skewBoundMs: number;
  /** No peer could know of policies that this node has lost. */
  readonly isAlone: boolean;
  readonly saved?: SavedBook;
  /** Policies of a book that is lost. What it said about tokens is not known. */
  readonly former?: SavedPolicies | undefined;
  /** Writes it to disk, and returns when it is there; throws where it cannot. Does nothing without a disk. */
  readonly save: (book: SavedBook) => void;
  /** Undefined where there is no catalogue of limits: none is taken then, and one in a set is kept as it came. */
  readonly catalogue?: CatalogueReader | undefined;
}

/** Reads catalogues of limits: the book keeps one and knows nothing of its content. */
export interface CatalogueReader {
  /** Throws a PolicyError where it is no catalogue. */
  check(given: unknown): void;
  /** The catalogue after a change of the one before, which is undefined where there is none; throws a PolicyError. */
  apply(change: unknown, before: unknown, nowMs: number): unknown;
  /** The quotas that a catalogue needs, as they are to be from this time on by the clock of the home. */
  definitionsOf(given: unknown, nowMs: number): readonly PartialDefinition[];
  /** A catalogue as its author wrote it. */
  written(given: unknown): unknown;
}
