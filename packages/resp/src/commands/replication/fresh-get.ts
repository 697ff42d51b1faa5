import { errors } from '../../errors/errors.js';
import { durationArgument, quotedArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { replyValue } from '../counters/get.js';

/** For the message; a longer one asks for nothing. */
const LONGEST_AGE_MS = 52 * 7 * 86_400_000;

/** GET for clients that prefer an error to an old value. */
export const freshGet = defineCommand({
  name: 'fresh.get',
  arity: 3,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'replication',
  summary:
    'Returns the value of a counter, or an error where the view of another region is older than `max-age`, a ' +
    'duration or a number of milliseconds.',
  since: '0.1.0',
  syntax: 'key max-age',
  run(call) {
    const { request, reply, server } = call;
    const maximumAgeMs = durationArgument(request, 2);
    if (!(maximumAgeMs >= 0))
      return reply.error(errors.notADuration('max-age', quotedArgument(request, 2), 0, LONGEST_AGE_MS));
    // Checked before the value is read, so that the value is at least as new.
    if (server.replication.isFresh(maximumAgeMs)) return replyValue(call, 1);
    const stalest = server.replication.stalest();
    reply.error(errors.stale(stalest?.region ?? '?', stalest?.ageMs, maximumAgeMs));
  },
});
