import { integer, integers, names, type Options, seconds, text, toggle } from '../command-line/flags.js';
import { sharedFlags } from '../command-line/suite.js';
import { MAX_KEYS } from '../load/request.js';
import { clientNames } from './clients.js';
import { memoryWorkloads, workloads } from './workloads.js';

const workloadNames = [...workloads, ...memoryWorkloads].map(({ name }) => name);
const defaultWorkloads = 'incr-uniform,get,memory,memory-expiring';

export const flags = {
  workload: {
    ...names('the workloads below, or all', workloadNames, defaultWorkloads, { all: workloadNames }),
    smoke: 'all',
  },
  pipeline: integers('requests sent before waiting for replies', [1, 1024], '1,16,64', '1,16'),
  connections: integers('clients at once', [1, 10_000], '50', '5'),
  seconds: seconds('length of a round', [0.01, 3600], '3', '0.1'),
  requests: integer('operations of a round, instead of a length in seconds', [0, 10_000_000_000], '0'),
  warmup: seconds('seconds of load before each round counts', [0, 3600], '0.5', '0.05'),
  rounds: sharedFlags.rounds,
  keys: integers('keys in the store', [1, MAX_KEYS], '1000000', '10000'),
  lanes: integers('threads of QuotaDB; each number becomes a side of its own', [1, 1024], ''),
  serveArguments: text('TEXT', 'more flags for quotadb serve: --serve-arguments="--flag …"'),
  client: names('load generators: own, and redis-benchmark where it can', clientNames, 'own'),
  redis: sharedFlags.redis,
  valkey: text('PATH', 'valkey-server; looked for on the PATH, left out if not there'),
  quotadb: sharedFlags.quotadb,
  noHalfLoad: toggle('leave out the latencies at half load'),
  noLimits: sharedFlags.noLimits,
  smoke: sharedFlags.smoke,
};

export type SideBySideOptions = Options<typeof flags>;
