import { Batch, batchOfKeys, OWN_ORIGIN } from '@quotadb/engine';
import { type Digests, FrameKind, type Inventory, type Ranges } from '@quotadb/wire';
import { isSameReplica, nameOfOrigin } from './identity.js';
import type { Link } from './link.js';
import { OriginComparison } from './origin-comparison.js';
import { type Holding, RangeDigests, RangeInventory, type RangeScan } from './range-scan.js';
import type { Replica } from './replica.js';

/** Scans that may wait; further differences are found again at the next comparison. */
const MAXIMUM_JOBS = 64;
/** Pieces of a scan done at one tick: replication with all peers waits for them. */
const STEPS_PER_TICK = 4;
/** Ranges whose inventories go out in answer to one comparison. */
const MAXIMUM_RANGES_COMPARED = 64;
/** Keys in one batch of a repair. */
const KEYS_PER_BATCH = 256;
/** The pause after a comparison of a shard, doubled each time the difference is still there. */
const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 600_000;

const EMPTY_DIGEST = '0'.repeat(16);

interface Job {
  readonly link: Link;
  readonly scan: RangeScan;
  finish(): void;
}

interface Suspicion {
  /** When the digests differed first; ranges are compared only if they still differ later. */
  readonly sinceMs: number;
  readonly pauseMs: number;
  readonly notBeforeMs: number;
}

/**
 * Proof that replicas hold the same, and repair where they do not. Normally there is nothing to find: watermarks are
 * true cuts. It repairs what streams cannot: changes of an origin that died before all members had them, a member that
 * was away for so long that garbage collection did not wait for it, a component that came out of order, a bug.
 *
 *   1  each side sends digests of an origin's shards at intervals, with the watermarks they belong to
 *   2  a replica with another digest at the same watermark, still so at the next comparison, sends digests by range
 *   3  the peer answers with an inventory (keys and versions) of each range that differs, and gets one back
 *   4  each side compares the peer's inventory with its own: it sends components that are newer here, and drops those
 *      that the peer has seen past and does not hold. An origin that finds an own component missing at the peer writes
 *      it anew: the origin knows best
 */
export class AntiEntropy {
  readonly comparison: OriginComparison;
  private readonly replica: Replica;
  private readonly jobs: Job[] = [];
  private readonly suspicions = new Map<string, Suspicion>();
  private comparedAtMs = 0;
  private nextShard = 0;
  private readonly batch = new Batch();

  constructor(replica: Replica) {
    this.replica = replica;
    this.comparison = new OriginComparison(replica);
  }

  receive(link: Link, frame: Digests | Ranges | Inventory): void {
    const { engine } = this.replica;
    // An answer changes nothing here, so every peer may give one.
    if (frame.kind === FrameKind.digests && frame.question !== 0) {
      this.comparison.receive(link, frame);
      return;
    }
    if (!mayCompare(link, frame.origin, this.replica.identity.origin)) return;
    // Digests may be the first frame that names an origin: it died while only the peer had parts of its first walk.
    const isFirstMention = frame.kind === FrameKind.digests && link.mayRelay;
    const origin = isFirstMention ? engine.origins.intern(frame.origin) : engine.origins.find(frame.origin);
    if (origin === -1) return;
    if (frame.kind === FrameKind.digests) this.receiveDigests(link, origin, frame);
    else if (frame.shard >= engine.shardCount || this.jobs.length >= MAXIMUM_JOBS) return;
    else if (frame.kind === FrameKind.ranges) this.receiveRanges(link, origin, frame);
    else this.receiveInventory(link, origin, frame);
  }

  cancel(link: Link): void {
    this.comparison.cancel(link);
    for (let index = this.jobs.length - 1; index >= 0; index--)
      if (this.jobs[index].link === link) this.jobs.splice(index, 1);
  }

  tick(nowMs: number): void {
    this.work();
    this.comparison.tick(nowMs);
    if (nowMs - this.comparedAtMs < this.replica.settings.digestIntervalMs) return;
    this.comparedAtMs = nowMs;
    const { shardCount } = this.replica.engine;
    const count = Math.min(this.replica.settings.digestShards, shardCount);
    const shards = Array.from({ length: count }, (_, index) => (this.nextShard + index) % shardCount);
    this.nextShard = (this.nextShard + count) % shardCount;
    for (const link of this.replica.links) if (link.isEstablished) this.sendDigests(link, shards);
  }

  private work(): void {
    for (let step = 0; step < STEPS_PER_TICK && this.jobs.length > 0; step++) {
      const [job] = this.jobs;
      if (job.scan.isVoid) {
        this.jobs.shift();
        continue;
      }
      if (!job.scan.isDone) job.scan.step();
      if (!job.scan.isDone) continue;
      this.jobs.shift();
      if (!job.link.isEstablished) continue;
      // An inventory of own components is sent like any own change: when the disk holds them.
      const { origin, shard, newest } = job.scan;
      if (origin === OWN_ORIGIN && newest > this.replica.sendableUpTo(shard)) this.jobs.push(job);
      else job.finish();
    }
  }

  /** Sends digests of each origin, for the shards in which the peer's watermark equals this node's. */
  private sendDigests(link: Link, candidates: readonly number[]): void {
    const { engine } = this.replica;
    for (const [index, origin] of this.replica.origins().entries()) {
      const theirs = link.member.seen.find(origin);
      const shards: number[] = [];
      const versions: number[] = [];
      const digests: string[] = [];
      for (const shard of candidates) {
        const seen = engine.seen(shard, index);
        const isAligned = (theirs?.[shard] ?? 0) === seen || link.outgoing(origin)?.sentTo(shard) === seen;
        if (!isAligned) continue;
        const { version, digest } = engine.digestAt(shard, index);
        // Also at 0 there may be components: parts of a first walk that its origin did not live to end.
        if (version === 0 && digest === EMPTY_DIGEST) continue;
        shards.push(shard);
        versions.push(version);
        digests.push(digest);
      }
      if (shards.length === 0) continue;
      const id = engine.origins.idOf(index);
      link.send({ kind: FrameKind.digests, origin: id, shards, versions, digests, question: 0, isAnswer: false });
    }
  }

  private receiveDigests(link: Link, origin: number, { shards, versions, digests }: Digests): void {
    const { engine } = this.replica;
    for (const [index, shard] of shards.entries()) {
      if (shard >= engine.shardCount || engine.seen(shard, origin) !== versions[index]) continue;
      const own = engine.digestAt(shard, origin);
      if (own.version !== versions[index]) continue;
      link.figures.digestsCompared++;
      const name = `${link.region}:${engine.origins.orderOf(origin)}:${shard}`;
      if (own.digest === digests[index]) this.trust(link, origin, shard, name);
      else this.suspect(link, origin, shard, name);
    }
  }

  private trust(link: Link, origin: number, shard: number, name: string): void {
    const suspicion = this.suspicions.get(name);
    if (suspicion === undefined) return;
    this.suspicions.delete(name);
    const wasCompared = suspicion.pauseMs > FIRST_PAUSE_MS;
    const tookMs = this.replica.clock.monotonicMs() - suspicion.sinceMs;
    if (wasCompared) this.replica.events.repaired?.(link, this.replica.origins()[origin], shard, tookMs);
  }

  private suspect(link: Link, origin: number, shard: number, name: string): void {
    const nowMs = this.replica.clock.monotonicMs();
    const suspicion = this.suspicions.get(name);
    if (suspicion === undefined) {
      // It may pass in a moment: one side has dropped an expired key, the other has not yet.
      this.suspicions.set(name, { sinceMs: nowMs, pauseMs: FIRST_PAUSE_MS, notBeforeMs: nowMs });
      return;
    }
    if (nowMs < suspicion.notBeforeMs || this.jobs.length >= MAXIMUM_JOBS) return;
    const pauseMs = Math.min(suspicion.pauseMs * 2, LONGEST_PAUSE_MS);
    this.suspicions.set(name, { ...suspicion, pauseMs, notBeforeMs: nowMs + suspicion.pauseMs });
    link.figures.digestMismatches++;
    this.replica.events.mismatch?.(link, this.replica.origins()[origin], shard);
    this.sendRanges(link, origin, shard);
  }

  private sendRanges(link: Link, origin: number, shard: number): void {
    const { engine } = this.replica;
    const { scan, digests } = new RangeDigests(engine, shard, origin, RangeDigests.rangeCount(engine));
    this.jobs.push({
      link,
      scan,
      finish: () =>
        link.send({
          kind: FrameKind.ranges,
          origin: engine.origins.idOf(origin),
          shard,
          version: scan.version,
          digests,
        }),
    });
  }

  private receiveRanges(link: Link, origin: number, { shard, digests: theirs }: Ranges): void {
    const { engine } = this.replica;
    if (theirs.length === 0 || (theirs.length & (theirs.length - 1)) !== 0) return;
    const { scan, digests } = new RangeDigests(engine, shard, origin, theirs.length);
    this.jobs.push({
      link,
      scan,
      finish: () => {
        const differing = [...digests.keys()].filter((range) => digests[range] !== theirs[range]);
        this.sendInventories(link, origin, shard, theirs.length, differing.slice(0, MAXIMUM_RANGES_COMPARED), true);
      },
    });
  }

  private sendInventories(
    link: Link,
    origin: number,
    shard: number,
    rangeCount: number,
    ranges: readonly number[],
    wantsAnswer: boolean,
  ): void {
    if (ranges.length === 0 || this.jobs.length >= MAXIMUM_JOBS) return;
    const { engine } = this.replica;
    const { scan, holdings } = new RangeInventory(engine, shard, origin, rangeCount, ranges);
    this.jobs.push({
      link,
      scan,
      finish: () => {
        for (const [range, held] of holdings)
          this.sendInventory(link, origin, scan, rangeCount, range, [...held.values()], wantsAnswer);
      },
    });
  }

  private sendInventory(
    link: Link,
    origin: number,
    scan: RangeScan,
    rangeCount: number,
    range: number,
    held: readonly Holding[],
    wantsAnswer: boolean,
  ): void {
    link.send({
      kind: FrameKind.inventory,
      origin: this.replica.engine.origins.idOf(origin),
      shard: scan.shard,
      version: scan.version,
      rangeCount,
      range,
      wantsAnswer,
      keys: held.map(({ key }) => key),
      versions: held.map(({ version }) => version),
    });
  }

  private receiveInventory(link: Link, origin: number, theirs: Inventory): void {
    const { engine } = this.replica;
    const { shard, rangeCount, range } = theirs;
    if (!link.admits([theirs.version])) return;
    if (rangeCount < 1 || (rangeCount & (rangeCount - 1)) !== 0 || range >= rangeCount) return;
    const { scan, holdings } = new RangeInventory(engine, shard, origin, rangeCount, [range]);
    this.jobs.push({
      link,
      scan,
      finish: () => {
        const held = holdings.get(range) as Map<string, Holding>;
        if (theirs.wantsAnswer) this.sendInventory(link, origin, scan, rangeCount, range, [...held.values()], false);
        this.repair(link, origin, theirs, held);
      },
    });
  }

  private repair(link: Link, origin: number, theirs: Inventory, held: ReadonlyMap<string, Holding>): void {
    link.figures.rangesCompared++;
    const listed = new Map(
      theirs.keys.map((key, index) => [Buffer.from(key).toString('latin1'), theirs.versions[index]]),
    );
    const newer: Uint8Array[] = [];
    for (const [name, { key, version }] of held) {
      const other = listed.get(name);
      if (other !== undefined ? version > other : version > theirs.version) newer.push(key);
      else if (other === undefined) this.settleMissing(link, origin, key, version);
    }
    this.sendAgain(link, origin, theirs.shard, newer);
  }

  /** The peer has seen past this version and does not hold it. */
  private settleMissing(link: Link, origin: number, key: Uint8Array, version: number): void {
    const { engine, merge } = this.replica;
    if (origin !== OWN_ORIGIN) {
      const isOwner = nameOfOrigin(link.origin) === this.replica.origins()[origin];
      if (merge.dropGone(origin, key, version, isOwner)) link.figures.componentsDropped++;
    } else if (engine.restate(key)) {
      link.figures.componentsResent++;
    }
  }

  private sendAgain(link: Link, origin: number, shard: number, keys: readonly Uint8Array[]): void {
    const { engine } = this.replica;
    const upTo = origin === OWN_ORIGIN ? this.replica.sendableUpTo(shard) : Number.POSITIVE_INFINITY;
    for (let from = 0; from < keys.length; from += KEYS_PER_BATCH) {
      const batch = batchOfKeys(engine, shard, origin, keys.slice(from, from + KEYS_PER_BATCH), upTo, this.batch);
      if (batch.count > 0) link.sendRepair(batch);
    }
  }
}

/**
 * As with changes: a peer that may not relay has a say in its own components and in those that it got from here. Of a
 * third region's it could claim that they are gone, and have them dropped.
 */
function mayCompare(link: Link, origin: Uint8Array, own: Uint8Array): boolean {
  return link.mayRelay || isSameReplica(origin, link.origin) || isSameReplica(origin, own);
}
