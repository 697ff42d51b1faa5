import { errors } from '../../errors/errors.js';
import { numberArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { replyValue } from '../counters/get.js';

/** GET by clients that would rather know nothing than something old. */
export const freshGet = defineCommand({
  name: 'fresh.get',
  arity: 3,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'replication',
  summary:
    'Returns the value of a counter, or an error where what other regions had is not known up to so many milliseconds ago.',
  since: '0.1.0',
  syntax: 'key max-age-ms',
  run(call) {
    const { request, reply, server } = call;
    const maximumAgeMs = numberArgument(request, 2);
    if (!(maximumAgeMs >= 0)) return reply.error(errors.maximumAge);
    // Asked before the value is read: what is read is then at least as new.
    if (server.replication.isFresh(maximumAgeMs)) return replyValue(call, 1);
    const stalest = server.replication.stalest();
    reply.error(errors.stale(stalest?.region ?? '?', stalest?.ageMs, maximumAgeMs));
  },
});
