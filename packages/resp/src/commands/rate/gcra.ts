import { Status } from '@quotadb/engine';
import { type Bucket, bucketOf, Charge, GcraLimit } from '@quotadb/rate';
import { errors, statusError } from '../../errors/errors.js';
import { writeDecision } from '../../reply/decision.js';
import { quotedArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { noteRate } from './limit.js';
import { costArgument, isKeyRefused, limitArgument, windowArgument } from './limit-arguments.js';

const KEY = 1;
const BURST = 2;
const COUNT = 3;
const PERIOD = 4;
const COST = 5;
const MAXIMUM_ARGUMENTS = 6;

/** One per thread: used by one command at a time. */
const gcra = new GcraLimit();
/** The arguments of the last request and their bucket: most requests ask for the same. */
const last = { burst: 0, count: 0, periodMs: 0, bucket: undefined as Bucket | undefined };

function bucketFor(burst: number, count: number, periodMs: number): Bucket | undefined {
  if (burst !== last.burst || count !== last.count || periodMs !== last.periodMs) {
    last.bucket = bucketOf(burst, count, periodMs);
    last.burst = burst;
    last.count = count;
    last.periodMs = periodMs;
  }
  return last.bucket;
}

export const rateGcra = defineCommand({
  name: 'rate.gcra',
  arity: -5,
  flags: ['write', 'denyoom', 'fast'],
  quotaSuffices: true,
  keys: [KEY, KEY, 1],
  group: 'rate',
  summary:
    'Takes from a bucket that holds burst + 1 requests and is refilled by count requests in a period. Returns the ' +
    'fields of RATE.LIMIT: allowed (1 or 0), the size of the bucket, the remaining requests, the milliseconds after ' +
    'which the bucket is full, and those after which a retry makes sense (-1: never). Every node has ' +
    'buckets of its own.',
  since: 'quotadb 0.1.0',
  syntax: 'key burst count period [cost]',
  run: (call) => {
    const { request, reply, engine } = call;
    const { input, argumentStart, argumentLength } = request;
    if (request.argumentCount > MAXIMUM_ARGUMENTS) {
      const extra = quotedArgument(request, MAXIMUM_ARGUMENTS);
      return reply.error(errors.syntaxAt(MAXIMUM_ARGUMENTS, extra, 'nothing comes after the cost'));
    }
    if (isKeyRefused(call, KEY)) return;
    const burst = limitArgument(call, BURST, 'burst', 0, Number.MAX_SAFE_INTEGER - 1);
    if (Number.isNaN(burst)) return;
    const count = limitArgument(call, COUNT, 'count', 1);
    if (Number.isNaN(count)) return;
    const periodMs = windowArgument(call, PERIOD);
    if (Number.isNaN(periodMs)) return;
    const cost = costArgument(call, COST);
    if (Number.isNaN(cost)) return;
    const bucket = bucketFor(burst, count, periodMs);
    if (bucket === undefined) return reply.error(errors.rateTooFine);

    const { ratePublishPercent } = call.server.config;
    gcra.locate(engine, input, argumentStart[KEY], argumentLength[KEY], bucket);
    const status = gcra.decide(engine, cost, ratePublishPercent, Charge.IfAllowed);
    if (status !== Status.Ok) return reply.error(statusError(status));
    const { allowed, remaining, retryAfterMs, resetAfterMs } = gcra.decision;
    noteRate(call, KEY, allowed);
    writeDecision(reply, allowed, bucket.limit, remaining, resetAfterMs, allowed ? 0 : retryAfterMs);
  },
});
