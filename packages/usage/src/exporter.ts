import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { type LimitWindow, nameOfAllotment, type Policy, type Windows, windowAt, windowEndMs } from '@quotadb/quota';
import { readLimitUsageKey } from './limit-usage-key.js';
import type { QuotaNames } from './quota-names.js';
import { type QuotaWindow, readQuotaUsageKey } from './quota-usage-key.js';
import type { Sink } from './sink.js';
import type { Spool, SpooledEvent } from './spool.js';
import { isNotedAsExported, noteExported, readUnexported } from './unexported.js';
import { usageEvent } from './usage-event.js';

export interface ExporterOptions {
  readonly engine: Engine;
  readonly cluster: string;
  readonly region: string;
  readonly spool: Spool;
  readonly sink: Sink;
  readonly names: QuotaNames;
  /** Beyond it usage stays in the store. */
  readonly maximumSpoolBytes: number;
  readonly policies: () => readonly Policy[];
  /** The windows of limits that are no quotas: of kind fixed in the catalogue, and of Envoy's files. */
  readonly otherWindows: () => readonly Windows[];
  /** Allotments with reservations that are not settled, by name. */
  readonly openReservations: () => ReadonlyMap<string, number>;
  /** Resolves when the disk holds all changes so far. */
  readonly sync: () => Promise<void>;
  /** Brings the time of the engine up to now. */
  readonly advance: () => void;
  readonly onTrouble: (what: 'collect' | 'deliver', error: Error) => void;
}

/**
 * A window is closed this long after its end. Only this region takes from its usage, by its own clock, so this is for
 * threads that are in a long turn; usage that comes even later has an event of its own.
 */
const CLOSED_AFTER_MS = 2_000;
/** Events of one file, delivered together. */
const FILE_EVENTS = 500;
/** Reserved keys looked at before other work of the thread gets a turn. */
const KEYS_PER_TURN = 500;
const TICK_MS = 250;
/** Usage that could not be exported in a pass is looked at again after this long. */
const AGAIN_MS = 2_000;
/** A pass is made this often in any case. */
const LONGEST_PAUSE_MS = 60_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

export interface ExportFigures {
  /** Events delivered since the start. */
  events: number;
  failures: number;
  isUp: boolean;
}

interface Closed {
  readonly key: Uint8Array;
  readonly window: QuotaWindow | LimitWindow;
}

/**
 * Exports the usage of this region: each closed window of each subject once. It takes usage out of the counters into
 * the spool, and delivers the spool; each of the two goes on where it was after a crash.
 */
export class UsageExporter {
  readonly figures: ExportFigures = { events: 0, failures: 0, isUp: true };
  private readonly options: ExporterOptions;
  private readonly replica: Uint8Array;
  private readonly origin: string;
  private collecting: Promise<void> = Promise.resolve();
  private delivering: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined = undefined;
  private isCollecting = false;
  private isDelivering = false;
  private readonly stopped = new AbortController();
  private nextPassMs = 0;
  /** Of quotas and other limits at the last pass: new ones may have windows that end sooner. */
  private knownWindows: readonly Windows[] = [];
  private nextTryMs = 0;
  private retryMs = FIRST_RETRY_MS;
  /** Of closed windows that stayed in the store at the last pass. */
  private oldestLeftMs = Number.POSITIVE_INFINITY;

  constructor(options: ExporterOptions) {
    this.options = options;
    const { engine } = options;
    this.replica = Uint8Array.from(engine.origins.idOf(OWN_ORIGIN));
    this.origin = Buffer.from(this.replica).toString('hex');
  }

  /** When the data is loaded. */
  start(): void {
    this.recover();
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** Finishes the file in hand. Everything else is delivered after the next start. */
  async stop(): Promise<void> {
    this.stopped.abort();
    clearInterval(this.timer);
    await Promise.all([this.collecting, this.delivering]);
  }

  /** How long ago the oldest window ended that is not delivered; 0 where all are. */
  get lagMs(): number {
    const ends = [this.oldestLeftMs, ...this.options.spool.files.map(({ oldestEndMs }) => oldestEndMs)];
    const oldestMs = Math.min(...ends);
    return oldestMs === Number.POSITIVE_INFINITY ? 0 : Math.max(0, this.options.engine.nowMs - oldestMs);
  }

  get spoolBytes(): number {
    return this.options.spool.bytes;
  }

  private tick(): void {
    this.options.advance();
    const { nowMs } = this.options.engine;
    if (!this.isCollecting && (nowMs >= this.nextPassMs || this.hasOtherWindows())) {
      this.isCollecting = true;
      this.collecting = this.collect()
        .catch((error: Error) => this.fail('collect', error))
        .finally(() => {
          this.isCollecting = false;
        });
    }
    if (!this.isDelivering && performance.now() >= this.nextTryMs && this.options.spool.files.length > 0) {
      this.isDelivering = true;
      this.delivering = this.deliver().finally(() => {
        this.isDelivering = false;
      });
    }
  }

  private windows(): readonly Windows[] {
    return [...this.options.policies(), ...this.options.otherWindows()];
  }

  private hasOtherWindows(): boolean {
    const windows = this.windows();
    return windows.length !== this.knownWindows.length || windows.some((one, at) => one !== this.knownWindows[at]);
  }

  private recover(): void {
    const { engine, spool } = this.options;
    spool.recover((origin, { key, exportedUpTo }) =>
      isNotedAsExported(engine, Uint8Array.from(Buffer.from(key, 'base64')), origin, exportedUpTo),
    );
  }

  private fail(what: 'collect' | 'deliver', error: Error): void {
    this.options.engine.releaseLocks();
    this.options.onTrouble(what, error);
    if (what === 'collect') this.nextPassMs = this.options.engine.nowMs + AGAIN_MS;
  }

  /** One pass over all usage: that of closed windows goes to the spool. */
  private async collect(): Promise<void> {
    const { engine, names, policies } = this.options;
    const startedMs = engine.nowMs;
    this.knownWindows = this.windows();
    names.note(policies());
    const open = this.options.openReservations();
    let closed: Closed[] = [];
    let earliestMs = startedMs + LONGEST_PAUSE_MS;
    let oldestLeftMs = Number.POSITIVE_INFINITY;
    const visit = (key: Uint8Array) => {
      const window = readQuotaUsageKey(key, this.replica) ?? readLimitUsageKey(key, this.replica);
      if (window === undefined) return;
      const overMs = window.endMs + CLOSED_AFTER_MS;
      if (overMs > startedMs) earliestMs = Math.min(earliestMs, overMs);
      else if (readUnexported(engine, key).amount !== 0) {
        const isReserved = 'policy' in window && open.has(nameOfAllotment(window));
        if (this.isFull || isReserved) oldestLeftMs = Math.min(oldestLeftMs, window.endMs);
        else closed.push({ key, window });
      }
    };
    for (let cursor = 0n; !this.stopped.signal.aborted; ) {
      cursor = engine.scanReserved(cursor, KEYS_PER_TURN, visit);
      if (closed.length >= FILE_EVENTS || cursor === 0n) {
        for (let at = 0; at < closed.length; at += FILE_EVENTS)
          await this.exportFile(closed.slice(at, at + FILE_EVENTS));
        closed = [];
      }
      if (cursor === 0n) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.oldestLeftMs = oldestLeftMs;
    const ends = this.knownWindows.map((one) => windowEndMs(one, windowAt(one, startedMs)) + CLOSED_AFTER_MS);
    if (oldestLeftMs !== Number.POSITIVE_INFINITY) ends.push(startedMs + AGAIN_MS);
    this.nextPassMs = Math.min(earliestMs, ...ends);
  }

  private get isFull(): boolean {
    return this.spoolBytes >= this.options.maximumSpoolBytes;
  }

  /**
   * On disk, in this order: the events; that their amounts are out of the counters; that they may be delivered. Nothing
   * else of this thread runs between the reading of an amount and its taking out, so no change of it is lost.
   */
  private async exportFile(closed: readonly Closed[]): Promise<void> {
    const { engine, cluster, region, names, spool, sync } = this.options;
    this.options.advance();
    const amounts: { readonly key: Uint8Array; readonly amount: number }[] = [];
    const events: SpooledEvent[] = [];
    for (const { key, window } of closed) {
      const { amount, mark, exportedUpTo } = readUnexported(engine, key);
      if (amount === 0) continue;
      amounts.push({ key, amount });
      const name = 'policy' in window ? names.of(window.policy) : window.limit;
      const event = usageEvent({ cluster, region, name, window, used: amount, mark });
      events.push({ key: Buffer.from(key).toString('base64'), exportedUpTo, event });
    }
    if (events.length === 0) return;
    const number = spool.note(this.origin, events, engine.nowMs);
    const isWhole = amounts.map(({ key, amount }) => noteExported(engine, key, amount)).every(Boolean);
    await sync();
    if (isWhole) {
      spool.makeReady(number);
      return;
    }
    this.recover();
    throw new Error('the store has no memory to note what was exported: raise --max-memory');
  }

  private async deliver(): Promise<void> {
    const { spool, sink } = this.options;
    try {
      for (let file = spool.files[0]; file !== undefined && !this.stopped.signal.aborted; file = spool.files[0]) {
        await sink.deliver(file.number, spool.eventsOf(file), this.stopped.signal);
        spool.remove(file);
        this.figures.events += file.events;
        this.figures.isUp = true;
        this.retryMs = FIRST_RETRY_MS;
      }
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      this.figures.failures++;
      this.figures.isUp = false;
      this.nextTryMs = performance.now() + this.retryMs;
      this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
      this.fail('deliver', error as Error);
    }
  }
}
