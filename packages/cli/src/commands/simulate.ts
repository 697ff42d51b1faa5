import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { loadOptionalPackage } from '../terminal/optional-package.js';
import { clearProgress, withProgress } from '../terminal/progress.js';

const EXAMPLES = `
Examples:
  $ quotadb simulate                          1000 schedules
  $ quotadb simulate --seeds 5000 --from 1    these, one after another
  $ quotadb simulate --seed 296 --trace       one, with all that happens in it
  $ quotadb simulate --seed 296 --shrink      with as few steps as still fail
  $ quotadb simulate --mistake 1              with a mistake planted: it has to fail
  $ quotadb simulate --quotas                 quotas instead of counters, with all of the above
  $ quotadb simulate --rates                  rate limits`;

interface Flags {
  readonly quotas?: boolean;
  readonly leases?: boolean;
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

/** Fresh seeds each time, unless told where to begin. */
const SEED_SPACE = 2 ** 31;

export function simulateCommand(onExitCode: (code: number) => void): Command {
  return new Command('simulate')
    .description(
      'try to break replication, quotas and rate limits: replicas, disks, a network and clocks from one seed, and checks',
    )
    .option('--quotas', 'quotas instead of counters')
    .option('--leases', 'quotas with leases')
    .option('--rates', 'rate limits instead of counters')
    .option('--unsynced', 'counters only: disks are never synced, as with --fsync never')
    .option('--threads <count>', 'run so many schedules at once', wholeNumber, availableParallelism())
    .option('--seed <number>', 'replay this schedule', wholeNumber)
    .option('--seeds <count>', 'how many schedules', wholeNumber, 1000)
    .option('--from <number>', 'the first of them (default: anywhere)', wholeNumber)
    .option('--seconds <count>', 'begin no more after so long', wholeNumber, Number.POSITIVE_INFINITY)
    .option('--trace', 'say all that happens, with --seed')
    .option('--shrink', 'leave out steps as long as it still fails, with --seed')
    .option('--only <steps>', 'take only these steps of the schedule, by number, with commas between', steps)
    .option('--mistake <number>', 'plant a known mistake, from 1 on', wholeNumber)
    .addHelpText('after', EXAMPLES)
    .action(async (flags: Flags) => {
      const load = () => import('@quotadb/simulator');
      const { runSimulate } = await loadOptionalPackage('simulate', '@quotadb/simulator', load);
      const schedules = runSimulate(
        {
          kind: flags.rates ? 'rates' : flags.leases ? 'leases' : flags.quotas ? 'quotas' : 'counters',
          isUnsynced: flags.unsynced ?? false,
          threads: Math.max(1, flags.threads),
          ...(flags.seed !== undefined && { seed: flags.seed }),
          from: flags.from ?? Math.floor(Math.random() * SEED_SPACE),
          count: flags.seeds,
          seconds: flags.seconds,
          traces: flags.trace ?? false,
          shrinks: flags.shrink ?? false,
          ...(flags.only && { only: flags.only }),
          ...(flags.mistake !== undefined && { mistake: flags.mistake }),
        },
        (line) => {
          clearProgress();
          process.stdout.write(`${line}\n`);
        },
      );
      const holds = await withProgress('simulating', schedules);
      // A long trace may still be on its way through a pipe.
      await new Promise((resolve) => process.stdout.write('', resolve));
      onExitCode(holds ? EXIT_OK : EXIT_FAILURE);
    });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('it is no whole number');
  return Number(text);
}

function steps(text: string): ReadonlySet<number> {
  return new Set(text.split(',').map(wholeNumber));
}
