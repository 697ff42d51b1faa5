import { defineCommand } from '../../session/define.js';

export const time = defineCommand({
  name: 'time',
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  group: 'server',
  summary: "The server's clock: seconds since 1970, and microseconds.",
  since: '2.6.0',
  run({ server, reply }) {
    const nowMs = server.clock.now();
    reply.array(2);
    reply.bulkText(String(Math.floor(nowMs / 1000)));
    reply.bulkText(String(Math.floor((nowMs % 1000) * 1000)));
  },
});
