import type { ClusterMap, Member, Move } from '../map/cluster-map.js';
import { mapOf } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import { commonRanges, countSlots, inRanges, printRange, rangesOf, type SlotRange } from '../slots/slot-range.js';
import type { MapLock, MapStore, StoredMap } from '../store/map-store.js';
import { nodeIdOf } from '../view/node-id.js';
import type { MovePeers, MoverClock, SlotSource } from './ports.js';
import { dropCopies, goBack, handOver, holdSlots } from './steps.js';

export interface MoverOptions {
  readonly own: Pick<Member, 'group' | 'region' | 'name'>;
  readonly store: MapStore;
  /** The map in force here. */
  readonly map: () => ClusterMap | undefined;
  readonly peers: MovePeers;
  readonly source: SlotSource;
  readonly clock: MoverClock;
  /** A sentence for the log. */
  readonly report?: (sentence: string) => void;
  /** Why nothing moves, each time that it changes; empty while something does, or nothing is to move. */
  readonly waits?: (reason: string) => void;
}

/** From the transaction that holds slots to the one that hands them over; then they go back. Commands wait for 2 s. */
const HOLD_PATIENCE_MS = 1500;
/** For the deletion of copies, which no command waits for. */
const DROP_PATIENCE_MS = 10_000;
/** For members to have a map that was just changed. */
const STATED_PATIENCE_MS = 2000;
const POLL_MS = 5;
/** Between two looks at the map when nothing can be done; a changed map wakes the mover too. */
const REST_MS = 1000;
/** Slots that could not be moved are left alone for this long, and others are tried. */
const SKIP_MS = 5000;
/** Before slots are held: their keys are collected until few change between two looks. */
const CATCH_UP_ROUNDS = 10;
const FEW_KEYS = 200;
const SMALLEST_SHARE = 1 / 64;

/** A batch cannot go on now. */
class Waits extends Error {
  /** The slots that it is about; the whole batch where there are none. */
  readonly slots: readonly SlotRange[];

  constructor(message: string, slots: readonly SlotRange[] = []) {
    super(message);
    this.slots = slots;
  }
}

/**
 * Runs the moves that the map has from one group to others, batch by batch. Every member of the group has a mover; the
 * one that holds the group's lock works. It keeps nothing between two steps that the map does not have: each begins by
 * reading the map, so a mover that dies anywhere is replaced by another.
 */
export class Mover {
  readonly figures = { slots: 0, keys: 0, bytes: 0, batches: 0, wentBack: 0, longestHoldMs: 0, lastHoldMs: 0 };
  /** Why nothing moves now; empty while something does, or nothing is to move. */
  waitsFor = '';
  private readonly options: MoverOptions;
  private lock: MapLock | undefined = undefined;
  private isStopped = false;
  private wake: (() => void) | undefined = undefined;
  private hasNews = false;
  /** Slots that a receiver has emptied and no other mover can have sent anything for since. */
  private prepared: { lock: MapLock | undefined; receiver: string; slots: readonly SlotRange[] } | undefined =
    undefined;
  /** Of a whole batch: a machine that is slow for a while moves less at once. */
  private share = 1;
  private readonly skippedUntilMs = new Map<number, number>();

  constructor(options: MoverOptions) {
    this.options = options;
  }

  /** Until it is stopped. */
  async run(): Promise<void> {
    while (!this.isStopped) {
      const isAgain = await this.step().catch((error: unknown) => this.wait(messageOf(error)));
      if (!isAgain && !this.isStopped) await this.rest();
    }
    await this.release();
  }

  /** The map has changed. */
  notice(): void {
    this.hasNews = true;
    this.wake?.();
  }

  stop(): void {
    this.isStopped = true;
    this.wake?.();
  }

  /** One step of the first move of this group. True where the next can be made at once. */
  async step(): Promise<boolean> {
    const { store, own } = this.options;
    const stored = await store.read();
    const map = stored && mapOf(stored.document);
    const at = map?.moves.findIndex(({ from }) => from === own.group) ?? -1;
    if (stored === undefined || map === undefined || at === -1) {
      this.setWaits('');
      await this.release();
      return false;
    }
    if (this.lock?.isHeld !== true) {
      this.lock = await store.lock(`move-${own.group}`);
      if (this.lock !== undefined) this.options.report?.('this member moves the slots of its group');
    }
    if (this.lock === undefined) {
      this.setWaits('');
      return false;
    }
    const move = map.moves[at];
    // Held by a mover that died, or whose batch took too long: what it has sent counts for nothing.
    if (move.held.length > 0) return this.change(stored, goBack(stored.document, at), 'went back');
    if (move.left.length > 0) return this.dropLeft(map, move);
    if (map.isPaused) return this.wait('paused by an operator');
    return this.moveBatch(map, move);
  }

  private async moveBatch(map: ClusterMap, move: Move): Promise<boolean> {
    const { source, clock } = this.options;
    const members = membersOf(map, move);
    await this.awaitStated([...members.from, ...members.to], map.revision, clock.now() + STATED_PATIENCE_MS);
    const { batch: slots, collected } = await source.choose(this.notSkipped(move.slots), this.share);
    if (slots.length === 0) return this.wait(this.waitsFor || 'slots that could not be moved are tried again soon');
    const receiver = this.receiverOf(members.to);
    await this.prepare(receiver, map.revision, slots, collected);
    for (let round = 0; round < CATCH_UP_ROUNDS && (await source.catchUp()) > FEW_KEYS; round++);
    const heldAtMs = clock.now();
    const untilMs = heldAtMs + HOLD_PATIENCE_MS;
    // Others may have changed the map, but for this move, which only the holder of the lock changes.
    const isSame = (one: Move) => one.from === move.from && one.to === move.to && hasAll(one.slots, slots);
    const mayHold = (one: Move, now: MapDocument) => isSame(one) && one.held.length === 0 && now.paused !== true;
    const held = await this.changeMove(mayHold, (document, index) => holdSlots(document, index, slots), untilMs);
    if (held === undefined) return true;
    // From now on something of them may be sent: they are emptied again before they are held again.
    this.forgetPrepared(slots);
    try {
      await this.copy(members, receiver, held.revision, slots, untilMs);
    } catch (error) {
      this.skip(error instanceof Waits && error.slots.length > 0 ? error.slots : slots);
      this.prepared = undefined;
      this.figures.wentBack++;
      if (!(error instanceof Waits) || error.slots.length === 0) this.share = Math.max(this.share / 2, SMALLEST_SHARE);
      this.wait(`slots ${print(slots)}: ${messageOf(error)}`);
      // The next step finds the held slots, and lets them go.
      return true;
    }
    await this.handOver(held, move, slots, heldAtMs);
    return true;
  }

  /** Emptying takes a visit to all keys of the receiver: once for several batches, while nothing goes wrong. */
  private async prepare(
    receiver: Member,
    revision: number,
    batch: readonly SlotRange[],
    collected: readonly SlotRange[],
  ): Promise<void> {
    const { prepared, lock } = this;
    const isEmpty = prepared?.lock === lock && prepared?.receiver === nodeIdOf(receiver);
    if (isEmpty && hasAll(prepared?.slots ?? [], batch)) return;
    this.prepared = undefined;
    await this.options.peers.prepare(receiver, revision, collected);
    this.prepared = { lock, receiver: nodeIdOf(receiver), slots: collected };
  }

  /** Under the hold: everything that members of `from` had, to every member of `to`. */
  private async copy(
    { from, to }: Members,
    receiver: Member,
    revision: number,
    slots: readonly SlotRange[],
    untilMs: number,
  ): Promise<void> {
    const { source, peers } = this.options;
    await this.awaitStated([...from, ...to], revision, untilMs);
    await Promise.all(from.map((member) => this.awaitCovered(member, revision, slots, untilMs)));
    await source.catchUp();
    const sent = await source.send(slots, async (entries) => {
      this.checkPatience(untilMs);
      await peers.send(receiver, revision, entries);
    });
    await peers.finish(receiver, revision);
    this.checkPatience(untilMs);
    this.figures.keys += sent.keys;
    this.figures.bytes += sent.bytes;
  }

  private async handOver(
    held: MapDocument,
    { from, to }: Move,
    slots: readonly SlotRange[],
    heldAtMs: number,
  ): Promise<void> {
    const { clock } = this.options;
    // Only this hold, and while the two groups have the members that have stated it.
    const membersIn = ({ groups }: MapDocument) => JSON.stringify([groups[from]?.members, groups[to]?.members]);
    const isSame = (move: Move, now: MapDocument) =>
      move.since === held.revision && now.paused !== true && membersIn(now) === membersIn(held);
    if ((await this.changeMove(isSame, handOver, heldAtMs + HOLD_PATIENCE_MS)) === undefined) return;
    const tookMs = clock.now() - heldAtMs;
    const { figures } = this;
    figures.slots += countSlots(slots);
    figures.batches++;
    this.share = Math.min(this.share * 2, 1);
    figures.lastHoldMs = tookMs;
    figures.longestHoldMs = Math.max(figures.longestHoldMs, tookMs);
    this.setWaits('');
  }

  /** The slots are another group's. When every member of this one has the deletion, the move is over for them. */
  private async dropLeft(map: ClusterMap, move: Move): Promise<boolean> {
    const { source, peers, clock } = this.options;
    const { from } = membersOf(map, move);
    const untilMs = clock.now() + DROP_PATIENCE_MS;
    await this.awaitStated(from, map.revision, untilMs);
    // What others had changed before they stopped must not come after the deletion.
    await Promise.all(from.map((member) => this.awaitCovered(member, map.revision, [], untilMs)));
    // Slots that come back are held first, for which this member states a map without the copies.
    await source.drop(move.left, () => this.areCopies(move.left));
    const own = source.marks();
    const versions = own.seen[own.origin];
    for (const member of from)
      for (;;) {
        const { seen } = await peers.marksOf(member);
        if (versions.every((version, shard) => (seen[own.origin]?.[shard] ?? 0) >= version)) break;
        await this.pause(untilMs, `${nameOf(member)} has not received the deletion of slots that have moved`);
      }
    const isSame = (one: Move) => one.from === move.from && one.to === move.to && areSame(one.left, move.left);
    return (await this.changeMove(isSame, dropCopies, untilMs)) !== undefined;
  }

  /**
   * The step of one move, on the map as it is now: movers of other groups and operators change other parts of it
   * meanwhile. Returns the map that it made; undefined where there is no such move any more, or the lock is another's
   * by now.
   */
  private async changeMove(
    isMeant: (move: Move, document: MapDocument) => boolean,
    step: (document: MapDocument, at: number) => MapDocument,
    untilMs: number,
  ): Promise<MapDocument | undefined> {
    const { store, clock } = this.options;
    for (;;) {
      const stored = await store.read();
      const document = stored?.document;
      const at = document === undefined ? -1 : mapOf(document).moves.findIndex((move) => isMeant(move, document));
      if (stored === undefined || document === undefined || at === -1) return undefined;
      const next = step(document, at);
      if (await store.replace(stored, next, this.lock)) return next;
      if (this.lock?.isHeld !== true || clock.now() > untilMs) {
        await this.release();
        return undefined;
      }
    }
  }

  private forgetPrepared(slots: readonly SlotRange[]): void {
    if (this.prepared === undefined) return;
    const [isPrepared, isHeld] = [inRanges(this.prepared.slots), inRanges(slots)];
    this.prepared = { ...this.prepared, slots: rangesOf((slot) => isPrepared(slot) && !isHeld(slot)) };
  }

  private areCopies(slots: readonly SlotRange[]): boolean {
    const { own, map } = this.options;
    const left = map()?.moves.flatMap((move) => (move.from === own.group ? move.left : [])) ?? [];
    return hasAll(left, slots);
  }

  /** Until these members have said that this revision is in force. */
  private async awaitStated(members: readonly Member[], revision: number, untilMs: number): Promise<void> {
    for (;;) {
      const statements = await this.options.store.members();
      const late = members.find((member) => (statements.get(nodeIdOf(member))?.revision ?? 0) < revision);
      if (late === undefined) return;
      const fault = statements.has(nodeIdOf(late)) ? 'has not stated the' : 'is not there; needed for the';
      await this.pause(untilMs, `${nameOf(late)} ${fault} revision ${revision}`);
    }
  }

  private async awaitCovered(
    member: Member,
    revision: number,
    slots: readonly SlotRange[],
    untilMs: number,
  ): Promise<void> {
    const { source, peers } = this.options;
    const marks = await peers.marksOf(member);
    if (marks.revision < revision) throw new Waits(`${nameOf(member)} has gone back to the revision ${marks.revision}`);
    const busy = commonRanges(marks.busy, slots);
    if (busy.length > 0) throw new Waits(`the slots ${print(busy)} have open reservations or leases`, busy);
    while (!source.covers(marks)) await this.pause(untilMs, `changes of ${nameOf(member)} have not arrived`);
  }

  private async pause(untilMs: number, why: string): Promise<void> {
    this.checkPatience(untilMs, why);
    await this.options.clock.sleep(POLL_MS);
  }

  private checkPatience(untilMs: number, why = 'sending the keys took too long'): void {
    if (this.options.clock.now() > untilMs) throw new Waits(why);
    if (this.isStopped) throw new Waits('this member stops');
  }

  private async change(stored: StoredMap, document: MapDocument, sentence?: string): Promise<boolean> {
    const isChanged = await this.options.store.replace(stored, document, this.lock);
    // Another change came first, or the lock is another's by now.
    if (!isChanged) await this.release();
    if (isChanged && sentence !== undefined) this.options.report?.(sentence);
    return isChanged;
  }

  private receiverOf(members: readonly Member[]): Member {
    // Another one after some failures only: what an earlier one has begun is cleared, but costs tokens of that window.
    return members[Math.floor(this.figures.wentBack / 4) % members.length];
  }

  private skip(slots: readonly SlotRange[]): void {
    const untilMs = this.options.clock.now() + SKIP_MS;
    for (const { first, last } of slots)
      for (let slot = first; slot <= last; slot++) this.skippedUntilMs.set(slot, untilMs);
  }

  private notSkipped(slots: readonly SlotRange[]): SlotRange[] {
    const nowMs = this.options.clock.now();
    const isMeant = inRanges(slots);
    return rangesOf((slot) => isMeant(slot) && (this.skippedUntilMs.get(slot) ?? 0) <= nowMs);
  }

  private wait(reason: string): false {
    if (reason !== this.waitsFor) this.options.report?.(`slots wait: ${reason}`);
    this.setWaits(reason);
    return false;
  }

  private setWaits(reason: string): void {
    if (reason !== this.waitsFor) this.options.waits?.(reason);
    this.waitsFor = reason;
  }

  private async rest(): Promise<void> {
    if (this.hasNews) {
      this.hasNews = false;
      return;
    }
    const woken = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    await Promise.race([woken, this.options.clock.sleep(REST_MS)]);
    this.wake = undefined;
    this.hasNews = false;
  }

  private async release(): Promise<void> {
    const { lock } = this;
    this.lock = undefined;
    await lock?.release().catch(() => undefined);
  }
}

function hasAll(slots: readonly SlotRange[], some: readonly SlotRange[]): boolean {
  return countSlots(commonRanges(slots, some)) === countSlots(some);
}

function areSame(some: readonly SlotRange[], others: readonly SlotRange[]): boolean {
  return hasAll(some, others) && hasAll(others, some);
}

interface Members {
  readonly from: readonly Member[];
  readonly to: readonly Member[];
}

function membersOf(map: ClusterMap, { from, to }: Move): Members {
  return { from: map.find(from)?.members ?? [], to: map.find(to)?.members ?? [] };
}

function nameOf({ group, region, name }: Member): string {
  return `the member ${region}${name === '' ? '' : `/${name}`} of ${group}`;
}

function print(slots: readonly SlotRange[]): string {
  return `${slots.slice(0, 5).map(printRange).join(', ')}${slots.length > 5 ? ', …' : ''}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
