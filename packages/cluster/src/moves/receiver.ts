import type { ClusterMap, Member, Move } from '../map/cluster-map.js';
import { inRanges, printRange, type SlotRange } from '../slots/slot-range.js';
import { nodeIdOf } from '../view/node-id.js';
import type { Marks, MoverClock } from './ports.js';

/** The keys of a member that receives slots. */
export interface SlotSink {
  /** Deletes everything in these slots. Asks `mayGoOn` right before every deletion, and rejects where it may not. */
  empty(slots: readonly SlotRange[], mayGoOn: () => boolean): Promise<void>;
  /** Counts the keys as this member's own, at once; throws, with nothing counted, where a slot is not in `isMeant`. */
  count(entries: Uint8Array, isMeant: (slot: number) => boolean, members: readonly Marks[]): void;
  covers(marks: Marks): boolean;
  marks(): Marks;
}

export interface ReceiverOptions {
  readonly own: Pick<Member, 'group' | 'region' | 'name'>;
  /** The map in force here. */
  readonly map: () => ClusterMap | undefined;
  readonly sink: SlotSink;
  readonly marksOf: (member: Member) => Promise<Marks>;
  readonly clock: MoverClock;
}

interface Prepared {
  readonly isMeant: (slot: number) => boolean;
  /** All of the group, this one last. */
  readonly members: readonly Marks[];
}

/** A mover waits no longer. */
const PATIENCE_MS = 1500;
const PREPARE_PATIENCE_MS = 10_000;
const POLL_MS = 5;

/**
 * A member of `to`, as movers of other groups use it. What a mover sends is fenced by the revision at which it holds
 * the slots: every hold has another one, and a member whose map has not that hold takes nothing of it. So when slots
 * are emptied here, and all members of `to` have that map, nothing of an earlier attempt comes after.
 */
export class Receiver {
  private readonly options: ReceiverOptions;
  /** By the group that the slots come from: movers of several groups may send at once. */
  private readonly prepared = new Map<string, Prepared>();
  private readonly attempts = new Map<string, number>();

  constructor(options: ReceiverOptions) {
    this.options = options;
  }

  async prepare(revision: number, slots: readonly SlotRange[]): Promise<void> {
    const { sink, clock, marksOf } = this.options;
    const map = this.mapSince(revision);
    const from = this.movesHere(map).find((move) => slots.every((range) => isPlanned(move, range)))?.from;
    if (from === undefined)
      throw new Error(`the slots ${slots.map(printRange).join(', ')} do not move to ${this.options.own.group}`);
    const attempt = (this.attempts.get(from) ?? 0) + 1;
    this.attempts.set(from, attempt);
    this.prepared.delete(from);
    const untilMs = clock.now() + PREPARE_PATIENCE_MS;
    const members = await Promise.all(this.others(map).map((member) => marksOf(member)));
    for (const marks of members) {
      if (marks.revision < revision) throw new Error(`a member has the map of revision ${marks.revision} only`);
      while (!sink.covers(marks)) await this.pause(untilMs, 'changes of another member have not arrived');
    }
    // All of this takes a while, in which another mover may have begun to hold the slots, or handed them over. It has
    // not while the map here does not say so: a hold begins with the statements of all members.
    const mayGoOn = () => {
      const now = this.options.map();
      const moves = now === undefined ? [] : this.movesHere(now).filter((move) => move.from === from);
      const isStill = moves.some((move) => slots.every((range) => isPlanned(move, range)));
      return isStill && attempt === this.attempts.get(from);
    };
    await sink.empty(slots, mayGoOn);
    if (!mayGoOn()) throw new Error('another mover has come in between');
    const isMeant = inRanges(slots);
    this.prepared.set(from, { isMeant, members: [...members, sink.marks()] });
  }

  count(revision: number, entries: Uint8Array): void {
    const { held, from } = this.heldSince(revision);
    const prepared = this.preparedFor(from);
    const isHeld = inRanges(held);
    this.options.sink.count(entries, (slot) => prepared.isMeant(slot) && isHeld(slot), prepared.members);
  }

  /** Resolves when every member of the group holds what was counted here. */
  async finish(revision: number): Promise<void> {
    const { sink, clock, marksOf } = this.options;
    this.preparedFor(this.heldSince(revision).from);
    const untilMs = clock.now() + PATIENCE_MS;
    const { origin, seen } = sink.marks();
    const own = seen[origin];
    const map = this.mapSince(revision);
    await Promise.all(
      // The own marks too: they are asked for when they are on the disk.
      [...this.others(map), this.own(map)].map(async (member) => {
        for (;;) {
          const marks = await marksOf(member);
          if (own.every((version, shard) => (marks.seen[origin]?.[shard] ?? 0) >= version)) return;
          await this.pause(untilMs, 'another member has not received the keys');
        }
      }),
    );
    this.heldSince(revision);
  }

  private preparedFor(from: string): Prepared {
    const prepared = this.prepared.get(from);
    if (prepared === undefined) throw new Error('the slots were not emptied here');
    return prepared;
  }

  /** The move whose slots are held since this revision. */
  private heldSince(revision: number): Move {
    const map = this.options.map();
    const move = map && this.movesHere(map).find(({ since }) => since === revision);
    if (move === undefined)
      throw new Error(`the map of revision ${map?.revision} here holds no slots since revision ${revision}`);
    return move;
  }

  private mapSince(revision: number): ClusterMap {
    const map = this.options.map();
    if (map === undefined || map.revision < revision)
      throw new Error(`the map of revision ${revision} is not here yet`);
    return map;
  }

  private movesHere(map: ClusterMap): Move[] {
    return map.moves.filter(({ to }) => to === this.options.own.group);
  }

  private others(map: ClusterMap): Member[] {
    const id = nodeIdOf(this.options.own);
    return (map.find(this.options.own.group)?.members ?? []).filter((member) => nodeIdOf(member) !== id);
  }

  private own(map: ClusterMap): Member {
    const { group, region, name } = this.options.own;
    const member = map.findMember(group, region, name);
    if (member === undefined) throw new Error('this server is not in the map');
    return member;
  }

  private async pause(untilMs: number, why: string): Promise<void> {
    if (this.options.clock.now() > untilMs) throw new Error(why);
    await this.options.clock.sleep(POLL_MS);
  }
}

/** They are to come, and nothing of them is held. */
function isPlanned({ slots, held }: Move, { first, last }: SlotRange): boolean {
  return (
    slots.some((range) => range.first <= first && last <= range.last) &&
    !held.some((range) => range.first <= last && first <= range.last)
  );
}
