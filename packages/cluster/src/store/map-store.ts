import { z } from 'zod';
import type { MapDocument } from '../map/schema.js';

/** A map as it is stored, and the store's own number for this state of it. */
export interface StoredMap {
  readonly document: MapDocument;
  /** Grows with every change of the stored map; a change names the one that it replaces. */
  readonly version: number;
}

export const statementSchema = z.strictObject({
  /** The revision of the map in force here: no command that began under an older one is still running. */
  revision: z.int().min(1),
  /** Why slots that this member is to move do not move; left out where they do. */
  waits: z.string().max(300).optional(),
});

/** What a running member says of itself, for as long as its lease lives. */
export type MemberStatement = Readonly<z.infer<typeof statementSchema>>;

/** Held by one member at a time, while its lease lives. */
export interface MapLock {
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/** Where members of all groups keep the map, and say that they are there. Without it everything goes on as it was. */
export interface MapStore {
  read(): Promise<StoredMap | undefined>;
  /**
   * Replaces the map if it is still `before`; false where another change came first. With a lock, only if it is held.
   * Where it rejects, it is not known whether the map was replaced: read it again.
   */
  replace(before: StoredMap | undefined, document: MapDocument, lock?: MapLock): Promise<boolean>;
  /** Reports every newer map, none twice; after a gap, of the newest. Returns the end of it. */
  watch(changed: (map: StoredMap) => void): () => void;
  /**
   * `member` is the name of a node, see nodeIdOf. A new statement replaces the one before; gone when the lease is.
   * Where it rejects, the statement is sent as soon as the store can be reached.
   */
  announce(member: string, statement: MemberStatement): Promise<void>;
  /** Of all members whose leases live. */
  members(): Promise<ReadonlyMap<string, MemberStatement>>;
  /** Undefined where another member has it. One of this store, whose answer was lost, is given again. */
  lock(name: string): Promise<MapLock | undefined>;
  stop(): Promise<void>;
}
