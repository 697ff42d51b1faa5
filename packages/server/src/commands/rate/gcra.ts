import { Status } from '@quotadb/engine';
import { MAX_WINDOW_MS } from '../../cells/cell-key.js';
import { errors, statusError } from '../../errors.js';
import type { Command } from '../command.js';
import { type BucketDecision, bucketOf, decideBucket } from './bucket-arithmetic.js';
import { BucketCell } from './bucket-cell.js';
import { boundedArgument, costArgument, isKeyRefused } from './limit-arguments.js';
import { noteRate } from './note-rate.js';

const KEY = 1;
const BURST = 2;
const COUNT = 3;
const PERIOD = 4;
const COST = 5;
const MAXIMUM_ARGUMENTS = 6;

const HIGHEST = Number.MAX_SAFE_INTEGER;

/** One for the thread: a command has done with it before the next begins. */
const cell = new BucketCell();
const decision: BucketDecision = { allowed: false, debt: 0, remaining: 0, retryAfterMs: 0, resetAfterMs: 0 };

/** Replies as CL.THROTTLE of redis-cell does, in milliseconds where that has seconds. */
export const rateGcra: Command = {
  name: 'rate.gcra',
  arity: -5,
  flags: ['write', 'denyoom', 'fast'],
  keys: [KEY, KEY, 1],
  group: 'rate',
  summary:
    'Takes from a bucket that count requests fill in a period, and that holds burst + 1. Returns 0 if it was allowed and 1 if not, what the bucket holds, what remains, after how many milliseconds to try again (-1: no need, or no use), and after how many it is full. Every node has buckets of its own.',
  since: 'quotadb 0.1.0',
  complexity: 'O(1)',
  syntax: 'key burst count period-ms [cost]',
  run: (call) => {
    const { request, reply, engine } = call;
    if (request.argumentCount > MAXIMUM_ARGUMENTS) return reply.error(errors.syntax);
    if (isKeyRefused(call, KEY)) return;
    const burst = boundedArgument(call, BURST, 0, HIGHEST - 1, errors.limitOutOfRange);
    if (Number.isNaN(burst)) return;
    const count = boundedArgument(call, COUNT, 1, HIGHEST, errors.limitOutOfRange);
    if (Number.isNaN(count)) return;
    const periodMs = boundedArgument(call, PERIOD, 1, MAX_WINDOW_MS, errors.windowLength);
    if (Number.isNaN(periodMs)) return;
    const cost = costArgument(call, COST);
    if (Number.isNaN(cost)) return;
    const bucket = bucketOf(burst, count, periodMs);
    if (bucket === undefined) return reply.error(errors.rateTooFine);

    cell.open(engine, request, KEY, bucket);
    decideBucket(bucket, cell.debt(engine, bucket), cost, decision);
    const status = decision.allowed && cost > 0 ? cell.setDebt(engine, bucket, decision.debt) : Status.Ok;
    engine.close();
    if (status !== Status.Ok) return reply.error(statusError(status));
    noteRate(call, KEY, decision.allowed);
    reply.array(5);
    reply.integer(decision.allowed ? 0 : 1);
    reply.integer(bucket.limit);
    reply.integer(decision.remaining);
    reply.integer(decision.retryAfterMs);
    reply.integer(decision.resetAfterMs);
  },
};
