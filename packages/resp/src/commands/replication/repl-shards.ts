import { replyIntegers } from '../../reply/values.js';
import { textArgument } from '../../request/arguments.js';
import type { ShardLag } from '../../services/replication-description.js';
import { defineCommand } from '../../session/define.js';
import { askReplication } from './ask-replication.js';

export const replShards = defineCommand({
  name: 'repl.shards',
  arity: 2,
  flags: ['readonly', 'no_multi'],
  group: 'replication',
  summary:
    "A region's progress with the changes made here, by shard: shard, version, acknowledged version, lag in " +
    'milliseconds.',
  since: '0.1.0',
  complexity: 'O(N) with N being the number of shards',
  syntax: 'region',
  run(call) {
    const region = textArgument(call.request, 1);
    askReplication(call, { kind: 'shards', region }, ({ reply }, value) => {
      const shards = value as readonly ShardLag[];
      reply.array(shards.length);
      for (const { shard, version, acknowledged, lagMs } of shards)
        replyIntegers(reply, [shard, version, acknowledged, lagMs]);
    });
  },
});
