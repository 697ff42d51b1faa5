import { parseArgs } from 'node:util';
import { UsageError } from '../options.js';
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

const HELP = `quotadb bench durability [flags]   what the disk costs, beside Redis with its append-only file

  --seconds S         length of a round [3]
  --rounds N          rounds of each side, by turns; medians are compared [3]
  --keys N            keys that are incremented [100000]
  --recovery-keys N   keys in the store that is started again; 0 leaves that out [1000000]
  --connections N     clients at once [50]
  --pipeline N,…      requests sent before waiting for replies [1,16]
  --lanes N,…         lanes of QuotaDB, each beside Redis; its own choice unless given
  --mode NAME,…       memory, never, 100ms, always; "none" for the rest only [all]
  --no-log            leave out what a hot key costs in the log
  --directory DIR     a directory on the disk to measure; a temporary one unless given
  --redis PATH        redis-server; looked for on the PATH
  --quotadb PATH      the quotadb program to measure; this one unless given
  --results DIR       history of all runs; the repository's bench/results
  --no-limits         do not hold the servers to 2 CPUs and 2 GiB
  --smoke             seconds, to see that everything works; its figures mean nothing and are not kept
  --help              this text
`;

export function durabilityHelpText(): string {
  return HELP;
}

export function parseDurabilityOptions(argv: readonly string[]): DurabilityOptions {
  const values = readFlags(argv);
  const smoke = values.smoke === true;
  const mistakes: string[] = [];
  const number = (flag: keyof typeof values, usual: number, inSmoke: number, minimum: number): number => {
    const value = Number(values[flag] ?? (smoke ? inSmoke : usual));
    if (!(value >= minimum)) mistakes.push(`--${flag}: "${values[flag]}" is not a number from ${minimum}`);
    return value;
  };
  const options: DurabilityOptions = {
    seconds: number('seconds', 3, 0.2, 0.01),
    rounds: number('rounds', 3, 1, 1),
    keys: number('keys', 100_000, 1000, 1),
    recoveryKeys: number('recovery-keys', 1_000_000, 10_000, 0),
    connections: number('connections', 50, 5, 1),
    pipelines: (values.pipeline ?? (smoke ? '16' : '1,16')).split(',').map(Number),
    lanes: values.lanes === undefined ? [] : values.lanes.split(',').map(Number),
    modes: chooseModes(values.mode, mistakes),
    log: values['no-log'] !== true,
    directory: values.directory ?? '',
    redis: values.redis ?? '',
    quotadb: values.quotadb ?? '',
    results: values.results ?? '',
    limits: values['no-limits'] !== true,
    smoke,
    help: values.help === true,
  };
  if (options.lanes.some((lanes) => !(lanes >= 1))) mistakes.push('--lanes: must be numbers from 1');
  if (options.pipelines.some((pipeline) => !(pipeline >= 1))) mistakes.push('--pipeline: must be numbers from 1');
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return options;
}

function chooseModes(given: string | undefined, mistakes: string[]): string[] {
  const names = modes.map(({ name }) => name);
  if (given === undefined) return names;
  if (given === 'none') return [];
  const chosen = given.split(',');
  for (const name of chosen)
    if (!names.includes(name)) mistakes.push(`--mode: "${name}" is none of ${names.join(', ')}`);
  return chosen;
}

function readFlags(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        keys: { type: 'string' },
        'recovery-keys': { type: 'string' },
        connections: { type: 'string' },
        pipeline: { type: 'string' },
        lanes: { type: 'string' },
        mode: { type: 'string' },
        'no-log': { type: 'boolean' },
        directory: { type: 'string' },
        redis: { type: 'string' },
        quotadb: { type: 'string' },
        results: { type: 'string' },
        'no-limits': { type: 'boolean' },
        smoke: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
