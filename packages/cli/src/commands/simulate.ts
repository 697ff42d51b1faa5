import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { loadOptionalPackage } from '../terminal/optional-package.js';
import { clearProgress, withProgress } from '../terminal/progress.js';
import { type Exit, runCommand } from '../terminal/run-command.js';

const EXAMPLES = `
Examples:
  $ quotadb simulate                          1000 schedules
  $ quotadb simulate --seeds 5000 --from 1    these, one after another
  $ quotadb simulate --seed 296 --trace       one, with every event of it
  $ quotadb simulate --seed 296 --shrink      with as few steps as still fail
  $ quotadb simulate --mistake 1              with a mistake planted: it has to fail
  $ quotadb simulate --quotas                 quotas instead of counters, with all of the above
  $ quotadb simulate --limits                 limits of a catalogue
  $ quotadb simulate --moves                  slots that move between groups
  $ quotadb simulate --rates                  rate limits`;

interface Flags {
  readonly quotas?: boolean;
  readonly leases?: boolean;
  readonly adjustments?: boolean;
  readonly members?: boolean;
  readonly limits?: boolean;
  readonly moves?: boolean;
  readonly rates?: boolean;
  readonly unsynced?: boolean;
  readonly threads: number;
  readonly seed?: number;
  readonly seeds: number;
  readonly from?: number;
  readonly seconds: number;
  readonly trace?: boolean;
  readonly shrink?: boolean;
  readonly only?: ReadonlySet<number>;
  readonly mistake?: number;
}

/** Without --from, the first seed is a random number below this. */
const SEED_SPACE = 2 ** 31;

/** `quotadb simulate`. */
export function simulateCommand(program: Command, exit: Exit): void {
  program
    .command('simulate')
    .description(
      'try to break replication, quotas and rate limits: replicas, disks, network and clocks from one seed, and checks',
    )
    .option('--quotas', 'quotas instead of counters')
    .option('--leases', 'quotas with leases')
    .option('--adjustments', 'quotas with overrides, extra tokens, refunds and windows of the calendar')
    .option('--members', 'quotas of a region with several members, which die, join and come back')
    .option('--limits', 'limits of a catalogue, with parents, limits in shadow, overrides and leases')
    .option('--moves', 'slots that move between groups while members and etcd fail')
    .option('--rates', 'rate limits instead of counters')
    .option('--unsynced', 'counters only: disks are never synced, as with --fsync never')
    .option('--threads <count>', 'schedules that run at once', wholeNumber, availableParallelism())
    .option('--seed <number>', 'replay this schedule', wholeNumber)
    .option('--seeds <count>', 'how many schedules', wholeNumber, 1000)
    .option('--from <number>', 'the first of them (default: a random one)', wholeNumber)
    .option('--seconds <count>', 'begin no schedule after this time', wholeNumber, Number.POSITIVE_INFINITY)
    .option('--trace', 'print every event, with --seed')
    .option('--shrink', 'leave out steps as long as it still fails, with --seed')
    .option('--only <steps>', 'take only these steps of the schedule, by number, with commas between', steps)
    .option('--mistake <number>', 'plant a known mistake, from 1 on', wholeNumber)
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => runCommand(exit, () => simulate(flags)));
}

function kindOf(flags: Omit<Flags, 'seed' | 'only' | 'mistake'>) {
  const { rates, moves, limits, leases, adjustments, members, quotas } = flags;
  if (moves) return 'moves';
  if (rates) return 'rates';
  if (limits) return 'limits';
  if (leases) return 'leases';
  if (adjustments) return 'adjustments';
  if (members) return 'members';
  return quotas ? 'quotas' : 'counters';
}

async function simulate({ seed, only, mistake, ...flags }: Flags): Promise<number> {
  const load = () => import('@quotadb/simulator');
  const { runSimulate } = await loadOptionalPackage('simulate', '@quotadb/simulator', load);
  const schedules = runSimulate(
    {
      kind: kindOf(flags),
      isUnsynced: flags.unsynced ?? false,
      threads: Math.max(1, flags.threads),
      ...(seed !== undefined && { seed }),
      from: flags.from ?? Math.floor(Math.random() * SEED_SPACE),
      count: flags.seeds,
      seconds: flags.seconds,
      traces: flags.trace ?? false,
      shrinks: flags.shrink ?? false,
      ...(only && { only }),
      ...(mistake !== undefined && { mistake }),
    },
    (line) => {
      clearProgress();
      process.stdout.write(`${line}\n`);
    },
  );
  const holds = await withProgress('simulating', schedules);
  // A pipe may not have taken all of a long trace yet.
  await new Promise((resolve) => process.stdout.write('', resolve));
  return holds ? EXIT_OK : EXIT_FAILURE;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('give a whole number');
  return Number(text);
}

function steps(text: string): ReadonlySet<number> {
  return new Set(text.split(',').map(wholeNumber));
}
