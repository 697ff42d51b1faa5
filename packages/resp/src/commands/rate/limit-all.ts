import { Status } from '@quotadb/engine';
import { decideAll, MAX_LIMITS, SlidingLimit } from '@quotadb/rate';
import { errors, statusError } from '../../errors/errors.js';
import { defineCommand } from '../../session/define.js';
import { noteRate, replyDecision } from './limit.js';
import { costArgument, locateLimit } from './limit-arguments.js';

const COST = 1;
const FIRST_KEY = 2;
const STEP = 3;

/** Made on first use and kept. */
const pool: SlidingLimit[] = [];

export const rateLimitall = defineCommand({
  name: 'rate.limitall',
  arity: -5,
  flags: ['write', 'denyoom'],
  quotaSuffices: true,
  keys: [FIRST_KEY, -STEP, STEP],
  group: 'rate',
  summary:
    'Counts a request against several sliding windows if it is within all of them, otherwise against none. Returns ' +
    'allowed (1 or 0), and the reply of RATE.LIMIT for each.',
  since: 'quotadb 0.1.0',
  complexity: 'O(N) where N is the number of limits.',
  syntax: 'cost key limit window [key limit window ...]',
  run: (call) => {
    const { request, reply, engine, server } = call;
    const count = (request.argumentCount - FIRST_KEY) / STEP;
    if (!Number.isInteger(count)) return reply.error(errors.limitsIncomplete(request.argumentCount - FIRST_KEY));
    if (count > MAX_LIMITS) return reply.error(errors.tooManyLimits(MAX_LIMITS));
    const cost = costArgument(call, COST);
    if (Number.isNaN(cost)) return;
    for (let index = pool.length; index < count; index++) pool.push(new SlidingLimit());
    const limits = pool.slice(0, count);
    if (!limits.every((limit, index) => locateLimit(call, FIRST_KEY + index * STEP, limit))) return;

    const status = decideAll(engine, limits, cost, server.config.ratePublishPercent);
    if (status !== Status.Ok) return reply.error(statusError(status));
    reply.array(count + 1);
    reply.integer(limits.every(({ allowed }) => allowed) ? 1 : 0);
    for (const [index, limit] of limits.entries()) {
      noteRate(call, FIRST_KEY + index * STEP, limit.allowed);
      replyDecision(call, limit);
    }
  },
});
