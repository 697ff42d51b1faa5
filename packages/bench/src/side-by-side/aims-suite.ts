import { withDefault } from '../command-line/flags.js';
import { type BenchRun, defineSuite } from '../command-line/suite.js';
import { formatAims } from '../report/aims.js';
import { formatRow } from '../report/table.js';
import type { ResultRow } from '../results/row.js';
import { flags } from './options.js';
import { measureSideBySide } from './suite.js';

/**
 * `quotadb bench aims`: the scenarios that have aims, with both clients, and a verdict on every aim. The same
 * measurement as `quotadb bench` with other defaults: rounds so short that five of each take about 12 minutes in all.
 */
export const aims = defineSuite({
  name: 'aims',
  summary: 'INCR and GET beside Redis, both clients, and a verdict on each aim; 12 minutes',
  flags: {
    ...flags,
    workload: withDefault(flags.workload, 'incr-uniform,get'),
    keys: withDefault(flags.keys, '10000,100000,1000000', '1000'),
    client: withDefault(flags.client, 'own,redis-benchmark'),
    lanes: withDefault(flags.lanes, '1,2'),
    rounds: withDefault(flags.rounds, '5', '1'),
    seconds: withDefault(flags.seconds, '0.45', '0.05'),
    warmup: withDefault(flags.warmup, '0.1', '0.02'),
  },
  rows: { folder: '', format: formatRow },
  async run(options, run: BenchRun<ResultRow>) {
    run.print(formatAims(await measureSideBySide(options, run)));
  },
});
