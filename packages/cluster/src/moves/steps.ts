import { mapOf } from '../map/read-map.js';
import type { MapDocument } from '../map/schema.js';
import { inRanges, printRange, rangesOf, type SlotRange } from '../slots/slot-range.js';

/**
 * The steps of moving slots (docs/decisions/0027-slots-move.md), each as the document that follows another. Every one
 * has the next revision, and says what every member may do with a slot:
 *
 *   step      | in `from`                | in `to`                        | the move has the slots in
 *   ----------|--------------------------|--------------------------------|--------------------------
 *   planned   | serves                   | redirects to `from`            | slots
 *   held      | lets no command begin    | lets no command begin          | slots, held, since
 *   owned     | redirects to `to`        | serves                         | left
 *   dropped   | redirects to `to`        | serves                         | none: the move is over
 */
type WrittenMove = NonNullable<MapDocument['moves']>[number];

/** Slots of any groups are to move to this one; those that it has stay. Throws where nothing is to move. */
export function planMove(document: MapDocument, slots: readonly SlotRange[], to: string): MapDocument {
  const map = mapOf(document);
  if (map.find(to) === undefined) throw new Error(`there is no group ${to}`);
  const isMoving = inRanges(map.moves.flatMap((move) => [...move.slots, ...move.left]));
  const isMeant = inRanges(slots);
  const busy = rangesOf((slot) => isMeant(slot) && isMoving(slot));
  if (busy.length > 0) throw new Error(`the slots ${print(busy)} are moving already`);
  const unowned = rangesOf((slot) => isMeant(slot) && map.groupOf(slot) === undefined);
  if (unowned.length > 0) throw new Error(`the slots ${print(unowned)} belong to no group`);
  const moves = map.groups
    .filter(({ name }) => name !== to)
    .map(
      ({ name }): WrittenMove => ({
        slots: write(rangesOf((slot) => isMeant(slot) && map.groupOf(slot)?.name === name)),
        from: name,
        to,
      }),
    )
    .filter(({ slots: moving }) => moving !== undefined);
  if (moves.length === 0) throw new Error(`the group ${to} has these slots already`);
  return next({ ...document, moves: [...(document.moves ?? []), ...moves] });
}

/** No command on these slots of a move begins from now on. */
export function holdSlots(document: MapDocument, at: number, slots: readonly SlotRange[]): MapDocument {
  return withMove(document, at, (move) => ({ ...move, held: write(slots), since: document.revision + 1 }));
}

/** What was held goes on in `from`. */
export function goBack(document: MapDocument, at: number): MapDocument {
  return withMove(document, at, ({ held: _, since: __, ...move }) => move);
}

/** The held slots belong to `to`; `from` still has copies. */
export function handOver(document: MapDocument, at: number): MapDocument {
  const map = mapOf(document);
  const move = map.moves[at];
  const isHeld = inRanges(move.held);
  const without = (slots: readonly SlotRange[]) => minus(slots, isHeld);
  const groups = Object.fromEntries(
    map.groups.map(({ name, slots }) => {
      const owned = name === move.from ? without(slots) : name === move.to ? plus(slots, move.held) : slots;
      const { slots: _, ...group } = document.groups[name];
      return [name, { ...(owned.length > 0 && { slots: owned.map(printRange) }), ...group }];
    }),
  );
  return withMove({ ...document, groups }, at, ({ held: _, since: __, ...written }) => ({
    ...written,
    slots: write(without(move.slots)),
    left: write(plus(move.left, move.held)),
  }));
}

/** `from` has no copies any more. */
export function dropCopies(document: MapDocument, at: number): MapDocument {
  return withMove(document, at, ({ left: _, ...move }) => move);
}

export function setPaused(document: MapDocument, isPaused: boolean): MapDocument {
  return next({ ...document, paused: isPaused });
}

function withMove(document: MapDocument, at: number, change: (move: WrittenMove) => WrittenMove): MapDocument {
  return next({
    ...document,
    moves: (document.moves ?? []).map((move, index) => (index === at ? change(move) : move)),
  });
}

/** The next revision, without moves that are over. */
function next(document: MapDocument): MapDocument {
  const { moves: before = [], paused, ...rest } = document;
  const moves = before
    .filter(({ slots, left }) => slots !== undefined || left !== undefined)
    .map((move) => Object.fromEntries(Object.entries(move).filter(([, value]) => value !== undefined)) as WrittenMove);
  return {
    ...rest,
    revision: document.revision + 1,
    ...(moves.length > 0 && { moves }),
    ...(paused === true && { paused }),
  };
}

function write(slots: readonly SlotRange[]): string[] | undefined {
  return slots.length === 0 ? undefined : slots.map(printRange);
}

function print(slots: readonly SlotRange[]): string {
  return slots.map(printRange).join(', ');
}

function minus(slots: readonly SlotRange[], isTaken: (slot: number) => boolean): SlotRange[] {
  const isIn = inRanges(slots);
  return rangesOf((slot) => isIn(slot) && !isTaken(slot));
}

function plus(some: readonly SlotRange[], others: readonly SlotRange[]): SlotRange[] {
  return rangesOf(inRanges([...some, ...others]));
}
