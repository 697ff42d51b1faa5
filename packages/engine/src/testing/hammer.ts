import type { Engine } from '../keys/engine.js';
import { Status } from '../keys/status.js';
import { ByteInput } from '../memory/byte-input.js';
import { joinInt64 } from '../memory/int64.js';
import { Random } from './random.js';
import { bytesOf } from './single-key.js';

/** What one thread of the test does to the shared store, and what it then says it did. */
export interface HammerTask {
  readonly kind: 'one-key' | 'many-keys';
  readonly thread: number;
  readonly rounds: number;
  readonly nowMs: number;
}

export interface HammerReport {
  /** one-key: the reply to each increment. */
  readonly replies: Int32Array;
  /** many-keys: what was added to each key that only grows. */
  readonly added: Int32Array;
  /** What went wrong, in words. */
  readonly problems: readonly string[];
}

export const HOT_KEY = 'hot';
export const GROWING_KEYS = 200;
const CHURNED_KEYS = 50;
export const PAIR_TOTAL = 1_000_000n;

export function growingKey(index: number): string {
  return `growing:${index}`;
}

function churnedKey(index: number): string {
  return `churned:by:threads:${index}-${'x'.repeat((index * 37) % 300)}`;
}

/** Prepared once: a lane does not make new inputs for each request either. */
class Key {
  readonly input: ByteInput;
  readonly length: number;

  constructor(text: string) {
    const bytes = bytesOf(text);
    this.input = ByteInput.copyOf(bytes);
    this.length = bytes.length;
  }

  open(engine: Engine): boolean {
    return engine.open(this.input, 0, this.length);
  }
}

export function hammer(engine: Engine, task: HammerTask): HammerReport {
  engine.advanceTo(task.nowMs);
  return task.kind === 'one-key' ? hammerOneKey(engine, task) : hammerManyKeys(engine, task);
}

function hammerOneKey(engine: Engine, task: HammerTask): HammerReport {
  const key = new Key(HOT_KEY);
  const replies = new Int32Array(task.rounds);
  const problems: string[] = [];
  for (let round = 0; round < task.rounds; round++) {
    key.open(engine);
    if (engine.add(0, 1) !== Status.Ok) problems.push(`increment ${round} was refused`);
    replies[round] = engine.valueLow;
    engine.close();
  }
  return { replies, added: new Int32Array(0), problems };
}

function hammerManyKeys(engine: Engine, task: HammerTask): HammerReport {
  const random = new Random(task.thread + 1);
  const growing = Array.from({ length: GROWING_KEYS }, (_, index) => new Key(growingKey(index)));
  const churned = Array.from({ length: CHURNED_KEYS }, (_, index) => new Key(churnedKey(index)));
  const pair = [new Key('left'), new Key('right')];
  const added = new Int32Array(GROWING_KEYS);
  const problems: string[] = [];
  let timeMs = task.nowMs;
  for (let round = 0; round < task.rounds && problems.length === 0; round++) {
    const dice = random.next();
    const lastMs = engine.nowMs;
    timeMs += random.below(3);
    engine.advanceTo(timeMs + random.below(20));
    if (engine.nowMs < lastMs) problems.push('time ran backwards');
    if (dice < 0.6) {
      const index = random.below(GROWING_KEYS);
      growing[index].open(engine);
      if (engine.add(0, 3) === Status.Ok) added[index] += 3;
      engine.close();
    } else if (dice < 0.9) {
      churn(engine, churned[random.below(CHURNED_KEYS)], random);
    } else if (dice < 0.94) {
      engine.expireSome(20);
    } else if (dice < 0.98) {
      moveBetween(engine, pair, random, problems);
    } else if (dice < 0.99) {
      engine.digestOf(random.below(engine.shardCount), 0);
    } else {
      engine.scan(BigInt(random.below(engine.shardCount)) << 32n, 5, () => {});
    }
  }
  return { replies: new Int32Array(0), added, problems };
}

/** Keys that come and go: created, decremented, given an expiry, removed. */
function churn(engine: Engine, key: Key, random: Random): void {
  const dice = random.next();
  key.open(engine);
  if (dice < 0.3) engine.add(0, 1);
  else if (dice < 0.45) engine.add(-1, -1);
  else if (dice < 0.6) engine.assign(0, 7, random.chance(0.5));
  else if (dice < 0.8) engine.expireAt(engine.nowMs + 1 + random.below(200));
  else if (dice < 0.85) engine.persist();
  else engine.remove();
  engine.close();
}

/** No other thread sees the two keys between the two changes. */
function moveBetween(engine: Engine, pair: readonly Key[], random: Random, problems: string[]): void {
  const amount = 1 + random.below(100);
  engine.lockAll();
  let total = 0n;
  for (const [index, key] of pair.entries()) {
    key.open(engine);
    total += joinInt64(engine.valueHigh, engine.valueLow);
    if (index === 0) engine.add(-1, -amount);
    else engine.add(0, amount);
    engine.close();
  }
  engine.unlock();
  if (total !== PAIR_TOTAL) problems.push(`two keys that are changed together came to ${total}`);
}
