/** What a part of the server does at a flush. Mesh, QuotaService and the lanes subscribe with one of these. */
export interface FlushListener {
  /** Everything that is in the store now will be on disk when this flush ends. */
  beforeFlush?(): void;
  /** The flush succeeded: the disk holds everything that was in the store at `beforeFlush`. */
  afterFlush?(): void;
  /**
   * The disk ended a piece of work, successfully or not. Sessions that wait for the disk check whether their changes
   * are durable, and lanes may write to the log again.
   */
  diskReleased?(): void;
}

/** The one subscription to flushes. Listeners are called in the order in which they subscribed, and stay for good. */
export class FlushEvents implements Required<FlushListener> {
  private readonly listeners: FlushListener[] = [];

  subscribe(listener: FlushListener): void {
    this.listeners.push(listener);
  }

  beforeFlush(): void {
    for (const listener of this.listeners) listener.beforeFlush?.();
  }

  afterFlush(): void {
    for (const listener of this.listeners) listener.afterFlush?.();
  }

  diskReleased(): void {
    for (const listener of this.listeners) listener.diskReleased?.();
  }
}
