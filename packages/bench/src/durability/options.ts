import { Flags, type FlagTable, helpText, sharedFlags, sharedSwitches } from '../flags.js';
import { MAX_KEYS } from '../load/request.js';
import { modes } from './servers.js';

/** The command line of `quotadb bench durability`. */
export interface DurabilityOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly keys: number;
  readonly recoveryKeys: number;
  readonly connections: number;
  readonly pipelines: readonly number[];
  /** Each is a side of its own; none means QuotaDB's own choice. */
  readonly lanes: readonly number[];
  /** Which ways to keep things are measured; see servers.ts. */
  readonly modes: readonly string[];
  readonly log: boolean;
  readonly directory: string;
  readonly redis: string;
  readonly quotadb: string;
  readonly results: string;
  readonly limits: boolean;
  readonly smoke: boolean;
  readonly help: boolean;
}

const modeNames = modes.map(({ name }) => name);

const table = {
  texts: {
    seconds: { placeholder: 'S', default: '3', smoke: '0.2', help: 'length of a round' },
    rounds: sharedFlags.rounds,
    keys: sharedFlags.incrementedKeys,
    'recovery-keys': {
      placeholder: 'N',
      default: '1000000',
      smoke: '10000',
      help: 'keys in the store that is started again; 0 leaves that out',
    },
    connections: { placeholder: 'N', default: '50', smoke: '5', help: 'clients at once' },
    pipeline: { placeholder: 'N,…', default: '1,16', smoke: '16', help: 'requests sent before waiting for replies' },
    lanes: {
      placeholder: 'N,…',
      default: '',
      help: 'lanes of QuotaDB, each beside Redis; its own choice unless given',
    },
    mode: { placeholder: 'NAME,…', default: 'all', help: `${modeNames.join(', ')}; "none" for the rest only` },
    directory: {
      placeholder: 'DIR',
      default: '',
      help: 'a directory on the disk to measure; a temporary one unless given',
    },
    redis: sharedFlags.redis,
    quotadb: sharedFlags.quotadb,
    results: sharedFlags.results,
  },
  switches: { 'no-log': 'leave out what a hot key costs in the log', ...sharedSwitches },
} satisfies FlagTable;

const USAGE = 'quotadb bench durability [flags]   what the disk costs, beside Redis with its append-only file';

export function durabilityHelpText(): string {
  return helpText([USAGE], table);
}

export function parseDurabilityOptions(argv: readonly string[]): DurabilityOptions {
  const flags = new Flags(table, argv);
  const options: DurabilityOptions = {
    seconds: flags.number('seconds', 0.01, 3600, false),
    rounds: flags.number('rounds', 1, 1000),
    keys: flags.number('keys', 1, MAX_KEYS),
    recoveryKeys: flags.number('recovery-keys', 0, MAX_KEYS),
    connections: flags.number('connections', 1, 10_000),
    pipelines: flags.numbers('pipeline', 1, 1024),
    lanes: flags.numbers('lanes', 1, 1024),
    modes: chooseModes(flags.list('mode'), flags.mistakes),
    log: !flags.isOn('no-log'),
    directory: flags.text('directory'),
    redis: flags.text('redis'),
    quotadb: flags.text('quotadb'),
    results: flags.text('results'),
    limits: !flags.isOn('no-limits'),
    smoke: flags.isOn('smoke'),
    help: flags.isOn('help'),
  };
  flags.check();
  return options;
}

function chooseModes(given: readonly string[], mistakes: string[]): readonly string[] {
  if (given[0] === 'all') return modeNames;
  if (given[0] === 'none') return [];
  for (const name of given)
    if (!modeNames.includes(name)) mistakes.push(`--mode: "${name}" is none of ${modeNames.join(', ')}`);
  return given;
}
