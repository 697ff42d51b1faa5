/** How long a connection has waited for its client, as sweeps from time to time find it. */
export class Patience {
  /** Since the last sweep: the client has taken bytes from the network, and has opened a window. */
  hasTaken = false;
  hasOpened = false;
  /** Since when a frame has not been whole. */
  frameSinceMs: number = Number.POSITIVE_INFINITY;
  /** When it last did, or did not have to. */
  private takenAtMs = performance.now();
  private openedAtMs = performance.now();

  /** `owes`: there are bytes for it to take, and replies for it to make room for. */
  isOver(nowMs: number, dueMs: number, owes: { readonly bytes: boolean; readonly room: boolean }): boolean {
    if (this.hasTaken || !owes.bytes) this.takenAtMs = nowMs;
    if (this.hasOpened || !owes.room) this.openedAtMs = nowMs;
    this.hasTaken = false;
    this.hasOpened = false;
    return Math.min(this.takenAtMs, this.openedAtMs, this.frameSinceMs) < dueMs;
  }
}
