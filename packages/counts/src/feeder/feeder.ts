import { INT64_MAX } from '../domain/int64.js';
import type { ComponentFeed, FedComponent } from '../domain/ports/component-feed.js';
import type { ComponentSource, CountedGeneration } from './component-source.js';

/**
 * Counters that are read, made durable and folded together: what one step holds in memory and keeps others waiting for.
 */
const COUNTERS_PER_STEP = 500;

/** How often everything is folded anew, whatever is known: a count that was deleted and made again has forgotten. */
const WHOLE_FOLD_INTERVAL_MS = 60_000;

/** A count and the counter that feeds it. A count may have several; a counter may feed several. */
export interface Feed {
  readonly itemId: string;
  readonly key: string;
}

export interface FeederOptions {
  readonly feeds: readonly Feed[];
  readonly source: ComponentSource;
  readonly record: ComponentFeed;
  readonly intervalMs: number;
  readonly wholeFoldIntervalMs?: number | undefined;
  /** Why something was not folded; once for each time it begins. */
  readonly onTrouble: (reason: unknown, itemIds: readonly string[]) => void;
}

interface FeedState extends Feed {
  /** The version that was last folded, by origin. */
  readonly folded: Map<number, number>;
  /** Its totals or its count do not fit into 64 bits; said once. */
  overflows: boolean;
}

interface Reading {
  readonly feed: FeedState;
  readonly generations: readonly CountedGeneration[];
}

/**
 * Looks at the declared counters at an interval and folds their growth into the record. It may stop anywhere and repeat
 * anything: folding is by component value, so a value that is folded twice, by this server or another, counts once.
 */
export class Feeder {
  readonly #options: FeederOptions;
  readonly #feeds: readonly FeedState[];
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #wholeFoldAtMs = 0;
  #inTrouble = false;
  #stopped = false;

  constructor(options: FeederOptions) {
    this.#options = options;
    this.#feeds = options.feeds.map((feed) => ({ ...feed, folded: new Map(), overflows: false }));
  }

  start(): void {
    if (this.#feeds.length > 0) this.#schedule();
  }

  /** Folds the counters as they are now, once more, if the record can be reached. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
    if (this.#feeds.length > 0) await this.#foldAll();
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#round = this.#foldAll().then(() => {
        if (!this.#stopped) this.#schedule();
      });
    }, this.#options.intervalMs);
  }

  async #foldAll(): Promise<void> {
    this.#forgetNowAndThen();
    try {
      for (let start = 0; start < this.#feeds.length; start += COUNTERS_PER_STEP) {
        await this.#foldStep(this.#feeds.slice(start, start + COUNTERS_PER_STEP));
      }
      this.#inTrouble = false;
    } catch (error) {
      // Nothing was noted as folded, so the next round takes it all again.
      if (!this.#inTrouble) this.#options.onTrouble(error, []);
      this.#inTrouble = true;
    }
  }

  #forgetNowAndThen(): void {
    const nowMs = performance.now();
    if (nowMs < this.#wholeFoldAtMs) return;
    this.#wholeFoldAtMs = nowMs + (this.#options.wholeFoldIntervalMs ?? WHOLE_FOLD_INTERVAL_MS);
    for (const feed of this.#feeds) feed.folded.clear();
  }

  async #foldStep(feeds: readonly FeedState[]): Promise<void> {
    const { source, record } = this.#options;
    const readings: Reading[] = [];
    const tooLarge: FeedState[] = [];
    for (const feed of feeds) {
      const generations = source.generations(feed.key, feed.folded);
      if (generations.some(({ positive, negative }) => positive > INT64_MAX || negative > INT64_MAX))
        tooLarge.push(feed);
      else if (generations.length > 0) readings.push({ feed, generations });
    }
    this.#reportOverflows(tooLarge);
    if (readings.length === 0) return;
    await source.durable();
    const outcome = await record.fold(readings.flatMap((reading) => this.#componentsOf(reading)));
    for (const { feed, generations } of readings) {
      // Of an item without a count nothing is remembered: it is offered again until there is one.
      if (outcome.missing.has(feed.itemId) || outcome.overflowed.has(feed.itemId)) continue;
      feed.overflows = false;
      for (const { originIndex, version } of generations) feed.folded.set(originIndex, version);
    }
    this.#reportOverflows(readings.map(({ feed }) => feed).filter(({ itemId }) => outcome.overflowed.has(itemId)));
  }

  #componentsOf({ feed, generations }: Reading): FedComponent[] {
    return generations.map(({ originIndex, born, positive, negative }) => ({
      itemId: feed.itemId,
      origin: `${this.#options.source.originName(originIndex)} ${feed.key}`,
      generation: BigInt(born),
      increments: positive,
      decrements: negative,
    }));
  }

  #reportOverflows(feeds: readonly FeedState[]): void {
    const begun = feeds.filter(({ overflows }) => !overflows);
    for (const feed of begun) feed.overflows = true;
    if (begun.length === 0) return;
    const reason = new Error('a fed count would leave the 64-bit range');
    this.#options.onTrouble(
      reason,
      begun.map(({ itemId }) => itemId),
    );
  }
}
