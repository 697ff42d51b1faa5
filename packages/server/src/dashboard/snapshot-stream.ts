import type { ServerResponse } from 'node:http';
import type { HistoryRange, Snapshot } from '@quotadb/dashboard';
import type { Logger } from 'pino';
import { History } from './history.js';
import type { SnapshotTaker } from './take-snapshot.js';

const SNAPSHOT_INTERVAL_MS = 1000;
/** Pages that are open at once; each costs a connection and a message a second. */
export const MAXIMUM_LISTENERS = 100;
/** A page that does not read is disconnected. */
const MAXIMUM_UNSENT_BYTES = 1024 * 1024;

interface Listener {
  readonly seesAllKeys: boolean;
  /** It has had its first snapshot. */
  isFollowing: boolean;
}

/** A snapshot a second: into the history, and to every page that is open, as server-sent events. */
export class SnapshotStream {
  private readonly snapshots: SnapshotTaker;
  private readonly logger: Logger;
  private readonly history = new History();
  private readonly listeners = new Map<ServerResponse, Listener>();
  private timer: NodeJS.Timeout | undefined = undefined;
  private isTicking = false;
  /** Snapshots are taken one after another. */
  private lastTaken: Promise<unknown> = Promise.resolve();

  constructor(snapshots: SnapshotTaker, logger: Logger) {
    this.snapshots = snapshots;
    this.logger = logger;
  }

  get isFull(): boolean {
    return this.listeners.size >= MAXIMUM_LISTENERS;
  }

  start(): void {
    this.timer ??= setInterval(() => void this.tick(), SNAPSHOT_INTERVAL_MS).unref();
  }

  /** The page does not wait for the next second: it gets a snapshot of its own first. */
  add(response: ServerResponse, seesAllKeys: boolean): void {
    const listener: Listener = { seesAllKeys, isFollowing: false };
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.listeners.set(response, listener);
    response.on('close', () => this.listeners.delete(response));
    void this.take().then((snapshot) => {
      if (snapshot !== undefined) response.write(eventOf(seesAllKeys ? snapshot : withoutKeys(snapshot)));
      listener.isFollowing = true;
    });
  }

  readHistory(range: HistoryRange): ReturnType<History['read']> {
    return this.history.read(range);
  }

  close(): void {
    clearInterval(this.timer);
    for (const listener of this.listeners.keys()) listener.end();
  }

  /** One snapshot for all listeners. A second is left out while lanes are too busy to answer. */
  private async tick(): Promise<void> {
    if (this.isTicking) return;
    this.isTicking = true;
    const snapshot = await this.take();
    this.isTicking = false;
    if (snapshot === undefined || this.listeners.size === 0) return;
    const text = eventOf(snapshot);
    for (const [response, { seesAllKeys, isFollowing }] of this.listeners) {
      if (!isFollowing) continue;
      if (response.writableLength > MAXIMUM_UNSENT_BYTES) response.destroy();
      else response.write(seesAllKeys ? text : eventOf(withoutKeys(snapshot)));
    }
  }

  /** Undefined where none could be taken; the log says why. */
  private take(): Promise<Snapshot | undefined> {
    const taken = this.lastTaken.then(async () => {
      try {
        const snapshot = await this.snapshots.take(this.listeners.size > 0);
        this.history.add(snapshot);
        return snapshot;
      } catch (error) {
        this.logger.error({ err: error }, 'no snapshot could be taken for the dashboard');
        return undefined;
      }
    });
    this.lastTaken = taken;
    return taken;
  }
}

function eventOf(snapshot: Snapshot): string {
  return `data: ${JSON.stringify(snapshot)}\n\n`;
}

/** For users who may see some keys only. */
function withoutKeys(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    slowCommands: [],
    rates: { ...snapshot.rates, hottest: [] },
    limits: snapshot.limits.map((limit) => ({ ...limit, subjects: [] })),
    quotas: snapshot.quotas.map((quota) => ({ ...quota, subjects: [] })),
  };
}
