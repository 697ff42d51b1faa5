import { parseArgs } from 'node:util';
import { UsageError } from '../options.js';

/** The command line of `quotadb bench replication`. */
export interface ReplicationOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly keys: number;
  readonly joinKeys: number;
  readonly rate: number;
  readonly otherRate: number;
  readonly connections: number;
  readonly pipeline: number;
  readonly quotadb: string;
  readonly results: string;
  readonly smoke: boolean;
  readonly help: boolean;
}

const HELP = `quotadb bench replication [flags]   what three regions cost and how far they are apart, on one machine

  --seconds S         length of a round [5]
  --rounds N          rounds of each side, by turns; medians are compared [3]
  --keys N            keys that are incremented [100000]
  --join-keys N       keys that a region which joins empty has to copy [1000000]
  --rate N            increments a second in every region while the lag is measured [100000]
  --other-rate N      increments a second in the two other regions while the throughput of one is measured [10000]
  --connections N     clients at once [20]
  --pipeline N        requests sent before waiting for replies [16]
  --quotadb PATH      the quotadb program to measure; this one unless given
  --results DIR       history of all runs; the repository's bench/results
  --smoke             seconds, to see that everything works; its figures mean nothing and are not kept
  --help              this text
`;

export function replicationHelpText(): string {
  return HELP;
}

export function parseReplicationOptions(argv: readonly string[]): ReplicationOptions {
  const values = readFlags(argv);
  const smoke = values.smoke === true;
  const mistakes: string[] = [];
  const number = (flag: keyof typeof values, usual: number, inSmoke: number, minimum: number): number => {
    const value = Number(values[flag] ?? (smoke ? inSmoke : usual));
    if (!(value >= minimum)) mistakes.push(`--${flag}: "${values[flag]}" is not a number from ${minimum}`);
    return value;
  };
  const options: ReplicationOptions = {
    seconds: number('seconds', 5, 0.3, 0.01),
    rounds: number('rounds', 3, 1, 1),
    keys: number('keys', 100_000, 1000, 1),
    joinKeys: number('join-keys', 1_000_000, 10_000, 1),
    rate: number('rate', 100_000, 1000, 1),
    otherRate: number('other-rate', 10_000, 1000, 1),
    connections: number('connections', 20, 4, 1),
    pipeline: number('pipeline', 16, 16, 1),
    quotadb: values.quotadb ?? '',
    results: values.results ?? '',
    smoke,
    help: values.help === true,
  };
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return options;
}

function readFlags(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        keys: { type: 'string' },
        'join-keys': { type: 'string' },
        rate: { type: 'string' },
        'other-rate': { type: 'string' },
        connections: { type: 'string' },
        pipeline: { type: 'string' },
        quotadb: { type: 'string' },
        results: { type: 'string' },
        smoke: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
