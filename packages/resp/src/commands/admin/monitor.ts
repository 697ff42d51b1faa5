import { defineCommand } from '../../session/define.js';

/** Every command of every client. While no client monitors, the others pay nothing for it. */
export const monitor = defineCommand({
  name: 'monitor',
  arity: 1,
  flags: ['admin', 'noscript', 'loading', 'stale', 'no_multi'],
  group: 'server',
  summary:
    'Shows the commands of all clients of this server, without secrets, until RESET or the end of the connection. A ' +
    'client that reads too slowly misses some, and is shown how many.',
  since: '1.0.0',
  complexity: 'O(1), and as much for every command of every client',
  run({ client, server, reply }) {
    // As in Redis, a second one gets no reply.
    if (client.stopMonitoring !== undefined) return;
    reply.ok();
    server.monitors.add(client);
  },
});
