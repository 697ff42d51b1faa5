import { HELD } from '@quotadb/resp';

/** Commands that wait for slots, of all lanes: further ones are asked to try again. */
const MAXIMUM_WAITING = 10_000;
/** After this a lane has stopped waiting. */
const FORGOTTEN_MS = 2500;

interface Waiting {
  readonly slot: number;
  readonly sinceMs: number;
  readonly answered: (isThere: boolean) => void;
}

/** Commands on slots that are on their way between groups. */
export class WaitingCommands {
  /** How many have waited so far. */
  total = 0;
  private readonly owners: Uint8Array;
  private waiting: Waiting[] = [];

  constructor(owners: Uint8Array) {
    this.owners = owners;
  }

  get count(): number {
    return this.waiting.length;
  }

  /** Calls back when the slot is where it belongs; with false where too many wait. */
  await(slot: number, answered: (isThere: boolean) => void): void {
    if (this.owners[slot] !== HELD) {
      answered(true);
      return;
    }
    const nowMs = performance.now();
    if (this.waiting.length >= MAXIMUM_WAITING)
      this.waiting = this.waiting.filter(({ sinceMs }) => nowMs - sinceMs < FORGOTTEN_MS);
    if (this.waiting.length >= MAXIMUM_WAITING) {
      answered(false);
      return;
    }
    this.total++;
    this.waiting.push({ slot, sinceMs: nowMs, answered });
  }

  /** The table of owners has changed. */
  goOn(): void {
    const before = this.waiting;
    this.waiting = before.filter(({ slot }) => this.owners[slot] === HELD);
    for (const { slot, answered } of before) if (this.owners[slot] !== HELD) answered(true);
  }
}
