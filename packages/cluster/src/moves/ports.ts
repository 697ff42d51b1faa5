import type { Member } from '../map/cluster-map.js';
import type { SlotRange } from '../slots/slot-range.js';

/** What one member holds, on its disk if it has one, at one moment. */
export interface Marks {
  /** Of the map in force there. */
  readonly revision: number;
  /** The own origin, see ORIGIN_ID_BYTES, in hexadecimal digits. */
  readonly origin: string;
  /** Of every origin, for each shard: the version up to which it holds everything. */
  readonly seen: Readonly<Record<string, readonly number[]>>;
  /** The version of the quota policies that it knows: tokens of a policy that a mover does not know would be minted. */
  readonly policies: number;
  /** Slots with reservations or leases of this member: they stay until these have ended. */
  readonly busy: readonly SlotRange[];
}

/** The other members, as the mover reaches them. Every call ends in time, with an error if need be. */
export interface MovePeers {
  marksOf(member: Member): Promise<Marks>;
  /**
   * A member of `to` empties these slots, under a map of this revision or a later one in which they are to move. It has
   * everything of the other members of `to` first.
   */
  prepare(receiver: Member, revision: number, slots: readonly SlotRange[]): Promise<void>;
  /** It counts these keys as its own; refused unless their slots are held at exactly this revision. */
  send(receiver: Member, revision: number, entries: Uint8Array): Promise<void>;
  /** Answers when all members of `to` have them, on their disks. */
  finish(receiver: Member, revision: number): Promise<void>;
}

export interface Sent {
  readonly keys: number;
  readonly bytes: number;
}

export interface Chosen {
  readonly batch: SlotRange[];
  /** The slots that further batches will be of, this one's among them. */
  readonly collected: SlotRange[];
}

/** The keys of this member. */
export interface SlotSource {
  /**
   * Chooses slots that can be moved at once, in their order, and collects the names of their keys. None where nothing
   * is to move. `share`, up to 1, makes batches smaller where larger ones took too long.
   */
  choose(slots: readonly SlotRange[], share: number): Promise<Chosen>;
  /** Collects the names of keys that have changed since; returns how many. */
  catchUp(): Promise<number>;
  /** Whether this member holds everything that the other one held. */
  covers(marks: Marks): boolean;
  /** Sends the keys of the slots that were chosen, as they are now. */
  send(slots: readonly SlotRange[], send: (entries: Uint8Array) => Promise<void>): Promise<Sent>;
  /** Deletes the keys of these slots. Asks `mayGoOn` right before every deletion, and rejects where it may not. */
  drop(slots: readonly SlotRange[], mayGoOn: () => boolean): Promise<void>;
  /** Of this member, now. */
  marks(): Marks;
}

export interface MoverClock {
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}
