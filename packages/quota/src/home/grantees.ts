/** As it is kept on disk. */
export interface SavedGrantee {
  /** In hexadecimal. */
  readonly origin: string;
  /** Until then a grant to it may count; null = for ever. */
  readonly untilMs: number | null;
}

export interface SavedGrantees {
  readonly grantees: readonly SavedGrantee[];
  /** Grants in windows that ended before this are not known any more: nothing is granted or marked in those windows. */
  readonly forgottenUpToMs: number;
}

/** A node's rights are computed over all grantees, and a region that restarts without a disk is a new one each time. */
export const MAXIMUM_GRANTEES = 1000;
/** Noted ahead, so that the file is not written for every window. */
const AHEAD_MS = 3_600_000;

interface Grantee {
  readonly origin: Uint8Array;
  readonly untilMs: number;
}

/**
 * The origins with grants of this incarnation that may still count. They are on disk before the first grant is made:
 * after a restart the grants are summed over them, and none may be missing. An origin whose windows are all over is
 * dropped, and those windows stay closed: a clock that is set back does not open them again.
 */
export class Grantees {
  private readonly save: (saved: SavedGrantees) => void;
  private known = new Map<string, Grantee>();
  private list: readonly Uint8Array[] = [];
  private forgotten = Number.NEGATIVE_INFINITY;

  constructor(saved: SavedGrantees | undefined, save: (saved: SavedGrantees) => void) {
    this.save = save;
    if (saved === undefined) return;
    this.forgotten = saved.forgottenUpToMs;
    for (const { origin, untilMs } of saved.grantees)
      this.known.set(origin, {
        origin: Uint8Array.from(Buffer.from(origin, 'hex')),
        untilMs: untilMs ?? Number.POSITIVE_INFINITY,
      });
    this.list = [...this.known.values()].map(({ origin }) => origin);
  }

  all(): readonly Uint8Array[] {
    return this.list;
  }

  get forgottenUpToMs(): number {
    return this.forgotten;
  }

  get saved(): SavedGrantees {
    return describe(this.known, this.forgotten);
  }

  /** False where there are too many: nothing may be granted. Throws where it cannot be saved. */
  note(origin: Uint8Array, endMs: number, nowMs: number): boolean {
    const name = Buffer.from(origin).toString('hex');
    const before = this.known.get(name);
    if (before !== undefined && before.untilMs >= endMs) return true;
    const known = new Map([...this.known].filter(([, { untilMs }]) => untilMs > nowMs));
    if (before === undefined && known.size >= MAXIMUM_GRANTEES) return false;
    const over = [...this.known.values()].filter(({ untilMs }) => untilMs <= nowMs);
    const forgotten = Math.max(this.forgotten, ...over.map(({ untilMs }) => untilMs));
    known.set(name, { origin: Uint8Array.from(origin), untilMs: endMs + AHEAD_MS });
    this.save(describe(known, forgotten));
    this.known = known;
    this.forgotten = forgotten;
    this.list = [...known.values()].map((grantee) => grantee.origin);
    return true;
  }
}

function describe(known: ReadonlyMap<string, Grantee>, forgotten: number): SavedGrantees {
  const grantees = [...known].map(([origin, { untilMs }]) => ({
    origin,
    untilMs: untilMs === Number.POSITIVE_INFINITY ? null : untilMs,
  }));
  return { grantees, forgottenUpToMs: forgotten === Number.NEGATIVE_INFINITY ? 0 : forgotten };
}
