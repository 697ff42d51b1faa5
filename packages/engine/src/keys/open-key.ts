import { Digests } from '../components/digest.js';
import { DroppedComponents } from '../components/dropped-components.js';
import { Generations } from '../components/generations.js';
import { OwnGeneration } from '../components/own-generation.js';
import { Records } from '../components/records.js';
import { isReservedKey, isReservedRecord } from '../components/reserved.js';
import { Unpublished } from '../components/unpublished.js';
import { VersionLists } from '../components/version-list.js';
import { Wheel } from '../components/wheel.js';
import {
  Attachments,
  ExpiryNumber,
  Kind,
  NegativeWord,
  SummaryFlag,
  SummaryNumber,
  SummaryWord,
  UnpublishedNumber,
  UnpublishedWord,
} from '../memory/attachments.js';
import type { ByteInput } from '../memory/byte-input.js';
import { Clock } from '../memory/clock.js';
import type { KeyPrefix } from '../memory/hash.js';
import { highHalf, INT64_MAX, INT64_MIN, lowHalf } from '../memory/int64.js';
import { recordWords } from '../memory/key-bytes.js';
import { Origins } from '../memory/origins.js';
import { Component, FOREIGN_WORDS, isPresent, versionOf } from '../memory/record.js';
import { Slab } from '../memory/slab.js';
import type { Store } from '../memory/store.js';
import { ReadAhead } from './read-ahead.js';
import { ShardLocks } from './shard-locks.js';

/**
 * The open key. One key is open at a time: `open` takes its shard's lock and loads its value, `close` gives the lock
 * back. Nothing here allocates on the way of an increment.
 */
export class OpenKey extends ShardLocks {
  readonly origins: Origins;
  readonly clock: Clock;
  readonly digests: Digests;
  readonly lists: VersionLists;
  readonly wheel: Wheel;
  readonly generations: Generations;
  readonly ownGeneration: OwnGeneration;
  readonly dropped: DroppedComponents;
  readonly unpublished: Unpublished;
  readonly records: Records;
  readonly ahead: ReadAhead;
  protected readonly attachments: Attachments;

  exists = false;
  valueHigh = 0;
  valueLow = 0;
  expiresAtMs = 0;
  protected shard = 0;
  protected record = 0;
  protected input: ByteInput | null = null;
  protected keyStart = 0;
  protected keyLength = 0;
  /**
   * This node's own generation is present and not over, and the value is far from the ends of its range: an amount
   * added to one is added to the other.
   */
  protected goesOn = false;
  protected isForbidden = false;

  constructor(store: Store) {
    super(store);
    this.attachments = store.attachments;
    this.origins = new Origins(store);
    this.clock = new Clock(store);
    this.digests = new Digests(store);
    this.lists = new VersionLists(store, this.digests);
    this.wheel = new Wheel(store);
    this.generations = new Generations(store, this.clock, this.wheel);
    this.ownGeneration = new OwnGeneration(store, this.clock, this.lists, this.generations, this.wheel);
    this.dropped = new DroppedComponents(store);
    this.unpublished = new Unpublished(store, this.clock, this.generations, this.ownGeneration);
    this.records = new Records(this);
    this.ahead = new ReadAhead(store);
  }

  open(input: ByteInput, start: number, length: number): boolean {
    if (isReservedKey(input, start, length)) return this.openForbidden(input, start, length);
    return this.openAny(input, start, length);
  }

  /** Opens reserved keys too. */
  openAny(input: ByteInput, start: number, length: number): boolean {
    const { store } = this;
    let shard = this.ahead.shardOf(input, start, length);
    if (shard === 0) shard = store.shardOf(input, start, length);
    this.lockShard(shard);
    this.shard = shard;
    if (this.input !== input) this.input = input;
    this.keyStart = start;
    this.keyLength = length;
    this.record = store.table.find(shard, input, start, length);
    this.load();
    return this.exists;
  }

  /** Hashes the first bytes of keys that share them, a multiple of four, for `openBehind`. */
  hashPrefix(prefix: KeyPrefix, input: ByteInput, start: number, bytes: number): void {
    this.store.hash.ofPrefix(prefix, input, start, bytes);
  }

  /** As openAny, of a key whose first bytes were hashed before: commands of limits open many with the same ones. */
  openBehind(prefix: KeyPrefix, input: ByteInput, start: number, length: number): boolean {
    const { store } = this;
    store.hash.ofRest(prefix, input, start, length);
    const shard = store.shardOfHash();
    this.lockShard(shard);
    this.shard = shard;
    if (this.input !== input) this.input = input;
    this.keyStart = start;
    this.keyLength = length;
    this.record = store.table.find(shard, input, start, length);
    this.load();
    return this.exists;
  }

  /** To a client a reserved key does not exist, and cannot be made. */
  private openForbidden(input: ByteInput, start: number, length: number): boolean {
    this.openAny(input, start, length);
    this.record = 0;
    this.isForbidden = true;
    this.load();
    return false;
  }

  close(): void {
    this.isForbidden = false;
    this.unlockShard(this.shard);
    this.shard = 0;
    this.record = 0;
  }

  /** After an error in mid-command: gives back every lock that this thread holds, so that the others go on. */
  releaseLocks(): void {
    if (!this.unlockNested() && this.shard !== 0) this.close();
    this.shard = 0;
    this.record = 0;
  }

  /** Loads the value that a reader of the open key sees. */
  protected load(): void {
    const memory = this.memory;
    const record = this.record;
    this.expiresAtMs = 0;
    if (record !== 0 && memory[record + Component.attachments] === 0) {
      this.exists = isPresent(memory, record);
      this.goesOn = this.exists;
      this.valueLow = memory[record + Component.positiveLow];
      this.valueHigh = memory[record + Component.positiveHigh];
    } else if (record !== 0) {
      this.loadWithAttachments();
    } else {
      this.exists = false;
      this.goesOn = false;
      this.valueLow = 0;
      this.valueHigh = 0;
    }
  }

  private loadWithAttachments(): void {
    const { memory, attachments, record } = this;
    const nowMs = this.clock.nowMs;
    this.exists = isPresent(memory, record);
    this.goesOn = this.exists;
    let low = memory[record + Component.positiveLow];
    let high = memory[record + Component.positiveHigh];
    let wide = false;
    for (let at = attachments.first(record); at !== 0; at = attachments.next(at)) {
      const kind = attachments.kindOf(at);
      if (kind === Kind.expiry) {
        const expiresAt = this.exists ? attachments.numberAt(at, ExpiryNumber.expiresAtMs) : 0;
        this.expiresAtMs = expiresAt;
        if (expiresAt !== 0 && expiresAt <= nowMs) {
          this.exists = false;
          this.goesOn = false;
          this.expiresAtMs = 0;
        }
      } else if (kind === Kind.negative) {
        const before = low;
        const taken = memory[at + NegativeWord.low];
        low = (low - taken) | 0;
        high = (high - memory[at + NegativeWord.high] - (before >>> 0 < taken >>> 0 ? 1 : 0)) | 0;
      } else if (kind === Kind.summary) {
        if (!this.exists) {
          low = 0;
          high = 0;
        }
        if (attachments.numberAt(at, SummaryNumber.holdsUntilMs) <= nowMs) this.refreshSummary(at);
        const hasForeign = memory[at + SummaryWord.generations] > 0;
        if (hasForeign && !this.exists) this.loadForeignExpiry();
        if (hasForeign) this.exists = true;
        const added = memory[at + SummaryWord.totalLow];
        low = (low + added) | 0;
        high = (high + memory[at + SummaryWord.totalHigh] + (low >>> 0 < added >>> 0 ? 1 : 0)) | 0;
        wide =
          (attachments.extraOf(at) & SummaryFlag.wide) !== 0 ||
          isLarge(memory[record + Component.positiveHigh]) ||
          this.isNegativeLarge();
      } else if (kind === Kind.unpublished) {
        // Only where there is no component: the rest of the value is 0.
        const untilMs = attachments.numberAt(at, UnpublishedNumber.untilMs);
        if (untilMs > nowMs) {
          this.exists = true;
          this.expiresAtMs = untilMs;
          low = memory[at + UnpublishedWord.low];
          high = memory[at + UnpublishedWord.high];
        }
      }
    }
    if (wide) this.goesOn = false;
    if (!this.exists) {
      low = 0;
      high = 0;
    } else if (wide) {
      const value = this.exactValue();
      low = lowHalf(value);
      high = highHalf(value);
    }
    this.valueLow = low;
    this.valueHigh = high;
  }

  private refreshSummary(summary: number): void {
    const { memory, record, shard } = this;
    this.generations.refresh(shard, record);
    this.records.count(shard, record, isPresent(memory, record) || memory[summary + SummaryWord.generations] > 0);
  }

  private loadForeignExpiry(): void {
    const inForce = this.generations.expiryInForce(this.record);
    this.expiresAtMs = inForce === 0 ? 0 : this.generations.expiresAt(inForce);
  }

  private isNegativeLarge(): boolean {
    const negative = this.attachments.find(this.record, Kind.negative);
    return negative !== 0 && isLarge(this.memory[negative + NegativeWord.high]);
  }

  /** Regions that each stay in range can leave it together: a reader then sees the nearest 64-bit value. */
  private exactValue(): bigint {
    const { record, generations } = this;
    const isAlive = generations.isOwnAlive(record);
    const own = isAlive ? generations.positiveOf(record) - generations.negativeOf(record) : 0n;
    const value = own + this.foreignValue();
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : value;
  }

  /** The part of the open key's value that other origins add; the rest is this node's own. */
  foreignValue(): bigint {
    return this.record === 0 ? 0n : this.generations.foreignTotal(this.record).total;
  }

  /** The same as a number, at no cost: the kept sum. Exact up to 2^53. */
  get foreignCount(): number {
    const { memory, record } = this;
    const summary = this.exists ? this.attachments.find(record, Kind.summary) : 0;
    if (summary === 0) return 0;
    return memory[summary + SummaryWord.totalHigh] * 2 ** 32 + (memory[summary + SummaryWord.totalLow] >>> 0);
  }

  /** The sum of this node's increments to the open key in its present generation. */
  get ownAdded(): number {
    return this.isOwnAlive ? Number(this.generations.positiveOf(this.record)) : 0;
  }

  /** The sum of its decrements. */
  get ownTaken(): number {
    return this.isOwnAlive ? Number(this.generations.negativeOf(this.record)) : 0;
  }

  private get isOwnAlive(): boolean {
    return this.record !== 0 && this.generations.isOwnAlive(this.record);
  }

  /** The version of this node's own component of the open key: once it is on disk, the change may be acknowledged. */
  get ownVersion(): number {
    return this.record === 0 ? 0 : versionOf(this.memory, this.record);
  }

  get openShardIndex(): number {
    return this.store.shardIndexOf(this.shard);
  }

  /** Whether no origin has published the open key: an amount added to it need not be published either. */
  get hasNoComponents(): boolean {
    return this.record === 0 || this.unpublished.hasNoComponents(this.record);
  }

  /** Whether the open key has an unpublished count that counts. */
  get isUnpublished(): boolean {
    return this.exists && this.unpublished.has(this.record);
  }

  /** The open key's local balance, or 0; made if there is none, unless memory is full. The key exists. */
  localBalance(isMade: boolean): number {
    if (this.record === 0) return 0;
    const found = this.attachments.find(this.record, Kind.localBalance);
    return found !== 0 || !isMade ? found : this.attachments.add(this.shard, this.record, Kind.localBalance);
  }

  memoryUsageBytes(): number {
    if (!this.exists) return 0;
    const { attachments, record } = this;
    let bytes = Slab.footprintBytes(recordWords(this.memory, record));
    for (let component = record; component !== 0; component = this.generations.nextComponent(record, component)) {
      if (component !== record) bytes += Slab.footprintBytes(FOREIGN_WORDS);
      for (let at = attachments.first(component); at !== 0; at = attachments.next(at)) {
        bytes += Attachments.wordsOf(attachments.kindOf(at)) * 4;
      }
    }
    return bytes;
  }

  /** Whether a reader sees the key of a record. The shard's lock is held, and no key is open. */
  isVisible(shard: number, record: number): boolean {
    if (isReservedRecord(this.memory, record)) return false;
    this.shard = shard;
    this.record = record;
    this.load();
    this.shard = 0;
    this.record = 0;
    return this.exists;
  }
}

/** 2^62 and more: two such numbers can leave 64 bits together. */
function isLarge(high: number): boolean {
  return (high & 0xc0000000) !== 0;
}
