import type { Frame } from '../testing/index.js';
import type { Words } from './words.js';

/**
 * Whether two servers said the same. Bytes have to be equal, except where they cannot be: a time left depends on when
 * one looks, and the order of keys on how each keeps them.
 */

/** How far apart the same command may have run on two servers of a busy machine. */
const TOLERANCE_SECONDS = 30;

type Comparison = (redis: Frame, ours: Frame) => boolean;

const equalBytes: Comparison = (redis, ours) => redis.wire === ours.wire;

function within(tolerance: number): Comparison {
  return (redis, ours) => {
    if (equalBytes(redis, ours)) return true;
    if (redis.type !== ':' || ours.type !== ':') return false;
    const [one, other] = [Number(redis.text), Number(ours.text)];
    // −1 and −2 are not times.
    return one >= 0 && other >= 0 && Math.abs(one - other) <= tolerance;
  };
}

const sameMembers: Comparison = (redis, ours) => {
  if (redis.children.length === 0 || redis.type !== ours.type) return equalBytes(redis, ours);
  if (redis.children.length !== ours.children.length) return false;
  const sorted = (frame: Frame) => frame.children.map((child) => child.wire).sort();
  const expected = sorted(redis);
  return sorted(ours).every((member, index) => member === expected[index]);
};

/** A SCAN that reaches its end in one call, or an error. */
const sameScan: Comparison = (redis, ours) => {
  if (redis.children.length !== 2 || ours.children.length !== 2) return equalBytes(redis, ours);
  return equalBytes(redis.children[0], ours.children[0]) && sameMembers(redis.children[1], ours.children[1]);
};

const isNull = (frame: Frame) => frame.type === '_' || frame.wire === '$-1\r\n';

/** Any key will do, but null only where Redis says null. */
const sameKind: Comparison = (redis, ours) => {
  if (redis.type !== '$' || isNull(redis)) return equalBytes(redis, ours);
  return ours.type === '$' && !isNull(ours);
};

const comparisons: Readonly<Record<string, Comparison>> = {
  ttl: within(TOLERANCE_SECONDS),
  expiretime: within(TOLERANCE_SECONDS),
  pttl: within(TOLERANCE_SECONDS * 1000),
  pexpiretime: within(TOLERANCE_SECONDS * 1000),
  keys: sameMembers,
  scan: sameScan,
  randomkey: sameKind,
};

/** Compares the replies of one connection in order, and so knows what EXEC replies to. */
export class ReplyComparer {
  private queued: Words[] = [];

  /** Whether both replies to this command say the same. */
  isSame(command: Words, redis: Frame, ours: Frame): boolean {
    const name = command[0].toLowerCase();
    if (redis.type === '+' && redis.text === 'QUEUED') {
      this.queued.push(command);
      return equalBytes(redis, ours);
    }
    if (name !== 'exec' && name !== 'discard') return sameReply(command, redis, ours);
    const queued = this.queued;
    // With a wrong number of arguments, EXEC ends the transaction all the same; DISCARD leaves it open, and spoilt.
    if (name === 'exec' || command.length === 1) this.queued = [];
    if (redis.type !== '*' || ours.type !== '*' || redis.children.length !== ours.children.length) {
      return equalBytes(redis, ours);
    }
    return redis.children.every((child, index) => sameReply(queued[index], child, ours.children[index]));
  }
}

function sameReply(command: Words, redis: Frame, ours: Frame): boolean {
  const comparison = comparisons[command[0].toLowerCase()] ?? equalBytes;
  return comparison(redis, ours);
}
