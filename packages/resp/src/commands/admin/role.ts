import { container } from '../../session/container.js';
import { defineCommand } from '../../session/define.js';

/** Every region takes writes: to a client it is a master without replicas. */
export const role = defineCommand({
  name: 'role',
  arity: 1,
  flags: ['noscript', 'loading', 'stale', 'fast'],
  role: 'admin',
  group: 'server',
  summary: 'Returns master: every region takes writes. REPL.PEERS has the other regions.',
  since: '2.8.12',
  run({ reply }) {
    reply.array(3);
    reply.bulkText('master');
    reply.integer(0);
    reply.array(0);
  },
});

export const moduleCommand = container({
  name: 'module',
  group: 'server',
  summary: 'Modules, of which there are none.',
  since: '4.0.0',
  subcommands: [
    defineCommand({
      name: 'list',
      arity: 2,
      flags: ['admin', 'noscript'],
      group: 'server',
      summary: 'Nothing: there are no modules.',
      since: '4.0.0',
      run({ reply }) {
        reply.array(0);
      },
    }),
  ],
});
