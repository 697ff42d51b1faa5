import { replyMap } from '../../reply/values.js';
import { defineCommand } from '../../session/define.js';

export const replAges = defineCommand({
  name: 'repl.ages',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'replication',
  summary: "The age in milliseconds of this node's complete view of each other region; -1 where it was never complete.",
  since: '0.1.0',
  complexity: 'O(N) with N being the number of regions',
  run({ reply, server }) {
    const ages = server.replication.ages();
    const fields = ages.map(({ region, ageMs }) => [region, ageMs === undefined ? -1 : Math.round(ageMs)] as const);
    replyMap(reply, fields);
  },
});
