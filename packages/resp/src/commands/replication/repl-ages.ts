import { defineCommand } from '../../session/define.js';

export const replAges = defineCommand({
  name: 'repl.ages',
  arity: 1,
  flags: ['readonly', 'fast'],
  group: 'replication',
  summary: 'Tells for each other region how many milliseconds ago all of it was known here; -1 where it never was.',
  since: '0.1.0',
  complexity: 'O(N) with N being the number of regions',
  run({ reply, server }) {
    const ages = server.replication.ages();
    reply.map(ages.length);
    for (const { region, ageMs } of ages) {
      reply.bulkText(region);
      reply.integer(ageMs === undefined ? -1 : Math.round(ageMs));
    }
  },
});
