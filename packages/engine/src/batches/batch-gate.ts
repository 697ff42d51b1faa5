import type { Engine } from '../keys/engine.js';
import { MAX_KEY_BYTES } from '../keys/key-changes.js';
import { MAX_ORIGINS } from '../memory/layout.js';
import {
  EPOCH_MS,
  LAST_ADMITTED_VERSION,
  LAST_DATED_VERSION,
  MAX_VERSION,
  timeOfVersion,
  versionAt,
} from '../memory/record.js';
import type { Batch } from './batch.js';

/**
 * The gate: a batch from a peer, and every component that is restored from a file, passes it before anything touches
 * the store.
 *
 *   number                                 | bound
 *   ---------------------------------------|--------------------------------------------------------------------------
 *   shard                                  | a shard of this store
 *   start, from, reached, to               | a version
 *   version, decided, born of a cancel     | a version
 *   born                                   | a version, not above that of its component
 *   floor                                  | a whole number of ms, not after the latest time
 *   expires at                             | a whole number of ms below 2^53, as clients may set it; none without
 *                                          | decided, and neither where the generation is over
 *   key                                    | at most MAX_KEY_BYTES
 *   cancels                                | at most MAX_CANCELS in a component, each of another generation
 *   P, N, P and N of a cancel              | any 64 bits; P and N of a generation that is over are 0
 *
 * A version is a whole number, and not above that of the latest time, which is a little after this node's own time. It
 * orders the changes of a key: with one from far in the future, dishonest or dated by a clock that is wrong, no later
 * change of any node would count. A node outdoes the numbers that it has admitted, so another one, whose clock is
 * behind, may have to wait with them until its clock has caught up: for as long as two clocks differ.
 */
export const Verdict = {
  Admitted: 0,
  /** No replica can have written it. */
  Broken: 1,
  /** Dated later than the latest time: admitted when this node's clock is there. */
  Ahead: 2,
} as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

const MAX_TIME_MS = Number.MAX_SAFE_INTEGER;

/** Some generations of each origin: a reset cancels one of each, and those before are collected. */
const MAX_CANCELS = 8 * MAX_ORIGINS;

/** The time of a thread that was held up may be this old. */
const HELD_UP_MS = 60_000;

/**
 * How far ahead of a node's own time the numbers of others may be dated. Two clocks differ by the bound on their skew
 * at most; a number of a third node, passed on by one whose clock is ahead already, by twice that.
 */
export function aheadMs(skewBoundMs: number): number {
  return 2 * skewBoundMs + HELD_UP_MS;
}

export class BatchGate {
  private readonly engine: Engine;
  private latestMs = 0;
  private latestVersion = 0;
  /** The number that was not admitted last: its name, and where it stood (-1: not in a component). */
  private what = '';
  private value = 0;
  private index = -1;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Numbers dated after this time are not admitted from now on. Versions given before EPOCH_MS only count. */
  admitUntil(timeMs: number): void {
    const latestMs = Math.max(timeMs, EPOCH_MS + HELD_UP_MS);
    if (latestMs === this.latestMs) return;
    this.latestMs = latestMs;
    const latest = versionAt(latestMs);
    this.latestVersion = latest < LAST_DATED_VERSION ? latest : LAST_ADMITTED_VERSION;
  }

  ofBatch(batch: Batch): Verdict {
    const verdict = this.ofHeader(batch);
    if (verdict !== Verdict.Admitted) return verdict;
    for (let index = 0; index < batch.count; index++) {
      const ofOne = this.ofComponent(batch, index);
      if (ofOne !== Verdict.Admitted) return ofOne;
    }
    return Verdict.Admitted;
  }

  ofHeader(batch: Batch): Verdict {
    this.index = -1;
    if (!(batch.shardIndex >= 0 && batch.shardIndex < this.engine.shardCount))
      return this.broken('the shard', batch.shardIndex);
    return (
      this.ofVersion('the start of a walk', batch.start) ||
      this.ofVersion('the start of a part', batch.from) ||
      this.ofVersion('the end of a part', batch.reached) ||
      this.ofVersion('the end of a walk', batch.to)
    );
  }

  ofComponent(batch: Batch, index: number): Verdict {
    this.index = index;
    const version = batch.version[index];
    const born = batch.born[index];
    if (!this.isVersion(version)) return this.notAdmitted('version', version);
    if (!(born >= 0 && born <= version && Math.floor(born) === born)) return this.broken('birth', born);
    const keyLength = batch.keyEnd[index] - batch.keyStart(index);
    if (keyLength > MAX_KEY_BYTES) return this.broken('length of key', keyLength);
    const decided = batch.decided[index];
    if (decided !== 0 && !this.isVersion(decided)) return this.notAdmitted('expiry setting', decided);
    const expiresAt = batch.expiresAtMs[index];
    if (expiresAt !== 0 && !(decided !== 0 && isWhole(expiresAt, MAX_TIME_MS))) return this.broken('expiry', expiresAt);
    const floor = batch.floorMs[index];
    if (floor !== 0 && !isWhole(floor, this.latestMs)) return this.ofLateTime('floor', floor);
    if (batch.present[index] === 0 && hasGeneration(batch, index)) return this.broken('end', version);
    return batch.cancelEnd[index] === batch.cancelStart(index) ? Verdict.Admitted : this.ofCancels(batch, index);
  }

  /** Rare, so it may allocate. */
  private ofCancels(batch: Batch, index: number): Verdict {
    const cancels = batch.cancels.slice(batch.cancelStart(index), batch.cancelEnd[index]);
    if (cancels.length > MAX_CANCELS) return this.broken('number of cancels', cancels.length);
    const generations = new Set<string>();
    for (const { origin, born } of cancels) {
      if (!this.isVersion(born)) return this.notAdmitted('cancelled generation', born);
      const generation = `${born} ${Buffer.from(origin).toString('latin1')}`;
      if (generations.has(generation)) return this.broken('second cancel of generation', born);
      generations.add(generation);
    }
    return Verdict.Admitted;
  }

  /** A version that stands alone: a watermark. */
  ofVersion(what: string, version: number): Verdict {
    return this.isVersion(version) ? Verdict.Admitted : this.notAdmitted(what, version);
  }

  /** A sentence about the number that was not admitted last. `batch` is the one that it came in. */
  describe(batch: Batch | undefined): string {
    const { what, value, index } = this;
    const of = batch === undefined || index === -1 ? '' : ` of key ${printKey(batch, index)}`;
    const isTime = what === 'floor';
    const dateMs = isTime ? value : timeOfVersion(value);
    const isDated = value <= (isTime ? MAX_TIME_MS : MAX_VERSION) && dateMs > this.latestMs;
    if (!isDated) return `${what} ${value}${of}, which is outside of its bounds`;
    const aheadOfMs = dateMs - this.engine.nowMs;
    return `${what} ${value}${of}, which is ${printDuration(aheadOfMs)} ahead of this server's clock`;
  }

  private isVersion(value: number): boolean {
    return value >= 0 && value <= this.latestVersion && Math.floor(value) === value;
  }

  private notAdmitted(what: string, version: number): Verdict {
    if (!isWhole(version, MAX_VERSION)) return this.broken(what, version);
    this.what = what;
    this.value = version;
    return Verdict.Ahead;
  }

  private ofLateTime(what: string, timeMs: number): Verdict {
    if (!isWhole(timeMs, MAX_TIME_MS)) return this.broken(what, timeMs);
    this.what = what;
    this.value = timeMs;
    return Verdict.Ahead;
  }

  private broken(what: string, value: number): Verdict {
    this.what = what;
    this.value = value;
    return Verdict.Broken;
  }
}

/** Amounts or an expiry setting: a generation has them, and takes them along when it ends. */
function hasGeneration(batch: Batch, index: number): boolean {
  const amounts =
    batch.positiveLow[index] | batch.positiveHigh[index] | batch.negativeLow[index] | batch.negativeHigh[index];
  return amounts !== 0 || batch.decided[index] !== 0;
}

function isWhole(value: number, highest: number): boolean {
  return value >= 0 && value <= highest && Math.floor(value) === value;
}

/** Keys are any bytes, and may be long. */
const PRINTED_KEY_BYTES = 64;

function printKey(batch: Batch, index: number): string {
  const start = batch.keyStart(index);
  const end = Math.min(batch.keyEnd[index], start + PRINTED_KEY_BYTES);
  const text = JSON.stringify(Buffer.from(batch.keyBytes.subarray(start, end)).toString('latin1'));
  return end < batch.keyEnd[index] ? `${text}…` : text;
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['years', 365.25 * 86_400_000],
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1000],
];

/** In the largest unit of which there are two. */
export function printDuration(milliseconds: number): string {
  const [name, ms] = UNITS.find(([, unitMs]) => milliseconds >= 2 * unitMs) ?? ['ms', 1];
  return `${Math.floor(milliseconds / ms)} ${name}`;
}
