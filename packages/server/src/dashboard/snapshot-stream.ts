import type { ServerResponse } from 'node:http';
import type { Snapshot } from '@quotadb/dashboard';
import type { Logger } from 'pino';
import type { SnapshotTaker } from './take-snapshot.js';

const SNAPSHOT_INTERVAL_MS = 1000;
/** Pages that are open at once; each costs a connection and a message a second. */
export const MAXIMUM_LISTENERS = 100;
/** A page that does not read is disconnected. */
const MAXIMUM_UNSENT_BYTES = 1024 * 1024;

/** A snapshot a second for every page that is open, as server-sent events. */
export class SnapshotStream {
  private readonly snapshots: SnapshotTaker;
  private readonly logger: Logger;
  /** And whether they may see all keys. */
  private readonly listeners = new Map<ServerResponse, boolean>();
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(snapshots: SnapshotTaker, logger: Logger) {
    this.snapshots = snapshots;
    this.logger = logger;
  }

  get isFull(): boolean {
    return this.listeners.size >= MAXIMUM_LISTENERS;
  }

  add(response: ServerResponse, seesAllKeys: boolean): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.listeners.set(response, seesAllKeys);
    response.on('close', () => {
      this.listeners.delete(response);
      if (this.listeners.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    });
    this.timer ??= setInterval(() => void this.send(), SNAPSHOT_INTERVAL_MS);
    void this.send();
  }

  close(): void {
    clearInterval(this.timer);
    for (const listener of this.listeners.keys()) listener.end();
  }

  /** One snapshot for all listeners. */
  private async send(): Promise<void> {
    try {
      const snapshot = await this.snapshots.take();
      const text = eventOf(snapshot);
      for (const [listener, seesAllKeys] of this.listeners) {
        if (listener.writableLength > MAXIMUM_UNSENT_BYTES) listener.destroy();
        else listener.write(seesAllKeys ? text : eventOf(withoutKeys(snapshot)));
      }
    } catch (error) {
      this.logger.error({ err: error }, 'no snapshot could be taken for the dashboard');
    }
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
    quotas: snapshot.quotas.map((quota) => ({ ...quota, subjects: [] })),
  };
}
