import { type Engine, joinInt64 } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, integerArgument, integerHalves, keyword, numberArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';

/**
 * The four forms of an expiry in Redis, by unit and by whether it counts from now: EX and EXPIRE, PX and PEXPIRE, EXAT
 * and EXPIREAT, PXAT and PEXPIREAT.
 */
export interface ExpiryUnit {
  readonly unitMs: 1 | 1000;
  readonly fromNow: boolean;
}

export const SECONDS: ExpiryUnit = { unitMs: 1000, fromNow: true };
export const MILLISECONDS: ExpiryUnit = { unitMs: 1, fromNow: true };
export const UNIX_SECONDS: ExpiryUnit = { unitMs: 1000, fromNow: false };
export const UNIX_MILLISECONDS: ExpiryUnit = { unitMs: 1, fromNow: false };

const EX = keyword('EX');
const PX = keyword('PX');
const EXAT = keyword('EXAT');
const PXAT = keyword('PXAT');

/** The unit that this option of SET, GETEX or INCREX names; undefined where it is another option. */
export function expiryUnitOption(request: Request, index: number): ExpiryUnit | undefined {
  if (argumentIs(request, index, EX)) return SECONDS;
  if (argumentIs(request, index, PX)) return MILLISECONDS;
  if (argumentIs(request, index, EXAT)) return UNIX_SECONDS;
  if (argumentIs(request, index, PXAT)) return UNIX_MILLISECONDS;
  return undefined;
}

/**
 * The latest expiry (the year 287396): a double does not hold every millisecond past it. Redis's limit is 2^63 (292
 * million years); times between the two become this one.
 */
const LATEST_EXPIRY_MS = Number.MAX_SAFE_INTEGER;

/** Redis's bounds for a time in seconds, which it multiplies by a thousand in 64 bits. */
const EARLIEST_SECONDS = -(2n ** 63n) / 1000n;
const LATEST_INT64 = 2n ** 63n - 1n;

/** Returned by the readers below after an error reply; check with Number.isNaN. */
const REFUSED = Number.NaN;

/** The absolute time that an amount of the unit stands for. */
export function absoluteMs(engine: Engine, unit: ExpiryUnit, amount: number): number {
  return Math.min(amount * unit.unitMs + (unit.fromNow ? engine.nowMs : 0), LATEST_EXPIRY_MS);
}

/** The absolute time of an argument of the four EXPIRE commands, in the past or not; REFUSED after an error. */
export function anyTimeArgument(call: Call, index: number, unit: ExpiryUnit, commandName: string): number {
  const amount = numberArgument(call.request, index);
  if (Number.isNaN(amount)) {
    call.reply.error(errors.notAnInteger);
    return REFUSED;
  }
  const atMs = absoluteMs(call.engine, unit, amount);
  const isFarPast = atMs < -LATEST_EXPIRY_MS && isBeforeRange(call.request, index, unit);
  if (isFarPast || (atMs === LATEST_EXPIRY_MS && isPastRange(call, index, unit))) {
    call.reply.error(errors.invalidExpire(commandName));
    return REFUSED;
  }
  return atMs;
}

/**
 * The amount of an expiry option of SET, GETEX or INCREX, or of an argument of SETEX or INCRBYEX, which must be
 * positive; REFUSED after an error. The caller converts it with absoluteMs where it needs the time: most calls of
 * INCRBYEX do not, and a number that large is an allocation.
 */
export function expiryAmount(call: Call, index: number, unit: ExpiryUnit, commandName: string): number {
  const amount = numberArgument(call.request, index);
  if (Number.isNaN(amount)) {
    call.reply.error(errors.notAnInteger);
    return REFUSED;
  }
  const isFar = absoluteMs(call.engine, unit, amount) === LATEST_EXPIRY_MS;
  if (amount <= 0 || (isFar && isPastRange(call, index, unit))) {
    call.reply.error(errors.invalidExpire(commandName));
    return REFUSED;
  }
  return amount;
}

function isBeforeRange(request: Request, index: number, unit: ExpiryUnit): boolean {
  integerArgument(request, index);
  return unit.unitMs === 1000 && joinInt64(integerHalves[0], integerHalves[1]) < EARLIEST_SECONDS;
}

/** Redis's own check, in exact numbers: whether the time does not fit into 64 bits. */
function isPastRange({ request, engine }: Call, index: number, { unitMs, fromNow }: ExpiryUnit): boolean {
  integerArgument(request, index);
  const milliseconds = joinInt64(integerHalves[0], integerHalves[1]) * BigInt(unitMs);
  return milliseconds + (fromNow ? BigInt(Math.floor(engine.nowMs)) : 0n) > LATEST_INT64;
}
