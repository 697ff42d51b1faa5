import { Flags, type FlagTable, helpText, sharedFlags, sharedSwitches } from '../flags.js';
import { MAX_KEYS } from '../load/request.js';

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

const table = {
  texts: {
    seconds: { placeholder: 'S', default: '5', smoke: '0.3', help: 'length of a round' },
    rounds: sharedFlags.rounds,
    keys: sharedFlags.incrementedKeys,
    'join-keys': {
      placeholder: 'N',
      default: '1000000',
      smoke: '10000',
      help: 'keys that a region which joins empty has to copy',
    },
    rate: {
      placeholder: 'N',
      default: '100000',
      smoke: '1000',
      help: 'increments a second in every region while the lag is measured',
    },
    'other-rate': {
      placeholder: 'N',
      default: '10000',
      smoke: '1000',
      help: 'increments a second in the two other regions while the throughput of one is measured',
    },
    connections: { placeholder: 'N', default: '20', smoke: '4', help: 'clients at once' },
    pipeline: { placeholder: 'N', default: '16', help: 'requests sent before waiting for replies' },
    quotadb: sharedFlags.quotadb,
    results: sharedFlags.results,
  },
  switches: { smoke: sharedSwitches.smoke, help: sharedSwitches.help },
} satisfies FlagTable;

const USAGE = 'quotadb bench replication [flags]   what three regions cost and how far they are apart, on one machine';
const MAXIMUM_RATE = 10_000_000;

export function replicationHelpText(): string {
  return helpText([USAGE], table);
}

export function parseReplicationOptions(argv: readonly string[]): ReplicationOptions {
  const flags = new Flags(table, argv);
  const options: ReplicationOptions = {
    seconds: flags.number('seconds', 0.01, 3600, false),
    rounds: flags.number('rounds', 1, 1000),
    keys: flags.number('keys', 1, MAX_KEYS),
    joinKeys: flags.number('join-keys', 1, MAX_KEYS),
    rate: flags.number('rate', 1, MAXIMUM_RATE),
    otherRate: flags.number('other-rate', 1, MAXIMUM_RATE),
    connections: flags.number('connections', 1, 10_000),
    pipeline: flags.number('pipeline', 1, 1024),
    quotadb: flags.text('quotadb'),
    results: flags.text('results'),
    smoke: flags.isOn('smoke'),
    help: flags.isOn('help'),
  };
  flags.check();
  return options;
}
