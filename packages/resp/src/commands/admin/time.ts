import { defineCommand } from '../../session/define.js';
import { microsecondsOf } from '../../time/microseconds.js';

export const time = defineCommand({
  name: 'time',
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  group: 'server',
  summary: "The server's clock: seconds since 1970, and microseconds.",
  since: '2.6.0',
  run({ server, reply }) {
    const microseconds = microsecondsOf(server.clock);
    reply.array(2);
    reply.bulkText(String(Math.floor(microseconds / 1e6)));
    reply.bulkText(String(microseconds % 1e6));
  },
});
