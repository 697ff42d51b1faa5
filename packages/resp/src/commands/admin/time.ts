import type { Command } from '../../session/command.js';

export const time: Command = {
  name: 'time',
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  group: 'server',
  summary: "The server's clock: seconds since 1970, and microseconds.",
  since: '2.6.0',
  complexity: 'O(1)',
  syntax: '',
  run({ server, reply }) {
    const nowMs = server.clock.now();
    reply.array(2);
    reply.bulkText(String(Math.floor(nowMs / 1000)));
    reply.bulkText(String(Math.floor((nowMs % 1000) * 1000)));
  },
};
