import type { ReplyWriter } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { askLanes } from '../../questions/ask-lanes.js';
import { numberArgument } from '../../request/arguments.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import type { SlowCommand } from '../../statistics/slowlog.js';

const DEFAULT_COUNT = 10;

const define = defineFamily({ flags: ['admin', 'loading', 'stale'], group: 'server', since: '2.2.12' });

const slowlogGet = define({
  name: 'get',
  arity: -2,
  summary: 'The newest slow commands: id, time, microseconds, arguments, client address, client name.',
  complexity: 'O(N) where N is the number of entries returned',
  syntax: '[count]',
  run(call) {
    const { request, reply } = call;
    if (request.argumentCount > 3) return reply.error(errors.wrongArity('slowlog|get'));
    const count = request.argumentCount === 3 ? numberArgument(request, 2) : DEFAULT_COUNT;
    if (!(count >= -1)) return reply.error(errors.slowlogCount);
    askLanes(call, 'slowCommands', null, ({ reply, server }, lanes) => {
      const kept = newestFirst(lanes, server.config.slowlogMaximumLength);
      const entries = count === -1 ? kept : kept.slice(0, count);
      reply.array(entries.length);
      for (const entry of entries) writeEntry(reply, entry);
    });
  },
});

const slowlogLen = define({
  name: 'len',
  arity: 2,
  summary: 'The number of slow commands kept.',
  run(call) {
    askLanes(call, 'slowCommands', null, ({ reply, server }, lanes) =>
      reply.integer(newestFirst(lanes, server.config.slowlogMaximumLength).length),
    );
  },
});

const slowlogReset = define({
  name: 'reset',
  arity: 2,
  summary: 'Clears the slow log.',
  run(call) {
    askLanes(call, 'resetSlowlog', null, ({ reply }) => reply.ok());
  },
});

export const slowlog = container({
  name: 'slowlog',
  group: 'server',
  summary: 'Slow commands.',
  since: '2.2.12',
  subcommands: [slowlogGet, slowlogLen, slowlogReset],
});

function newestFirst(lanes: readonly (readonly SlowCommand[])[], maximumLength: number): SlowCommand[] {
  return lanes
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, maximumLength);
}

function writeEntry(reply: ReplyWriter, entry: SlowCommand): void {
  reply.array(6);
  reply.integer(entry.id);
  reply.integer(entry.atSeconds);
  reply.integer(entry.microseconds);
  reply.array(entry.words.length);
  for (const word of entry.words) reply.bulk(word, 0, word.length);
  reply.bulkText(entry.address);
  reply.bulkText(entry.clientName);
}
