import { setTimeout as wait } from 'node:timers/promises';
import { Mistake } from '@quotadb/config';
import { parseDuration } from '@quotadb/wire';
import type { Command } from 'commander';
import { Refused, type Target, withClient } from '../client/resp-client.js';
import { isClusterFailing } from '../status/cluster-status.js';
import type { Status } from '../status/status.js';
import { EXIT_FAILURE, EXIT_OK, EXIT_UNREACHABLE } from '../terminal/exit-codes.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { namedTarget, type TargetOptions, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb status
  $ quotadb status us=10.0.0.1:6380 eu=10.0.1.1:6380 --watch 2s
  $ quotadb status --json | jq .[0].keys           exit code 3 when one cannot be reached, 1 when one is failing`;

const USUAL_INTERVAL_MS = 1000;
const SHORTEST_INTERVAL_MS = 100;
const LONGEST_INTERVAL_MS = 86_400_000;

interface StatusOptions extends TargetOptions {
  readonly json?: boolean;
  /** The time between two readings; without it there is one. */
  readonly watch?: string | true;
}

/** `quotadb status`: servers at a glance. */
export function statusCommand(program: Command, exit: Exit): void {
  withTarget(program.command('status'))
    .description('servers at a glance: up, busy, full, on disk; in a cluster its groups, members and slots')
    .argument('[server...]', 'several servers, as host:port or name=host:port')
    .option('--json', 'as JSON')
    .option('--watch [duration]', 'again and again, every second or as often as this; a bare number is seconds')
    .addHelpText('after', EXAMPLES)
    .action((servers: string[], options: StatusOptions) =>
      runCommand(exit, () => {
        const named = servers.length === 0 ? [`${options.host}:${options.resp}`] : servers;
        return runStatus(
          named.map((server) => namedTarget(server, options)),
          options,
        );
      }),
    );
}

type NamedTarget = ReturnType<typeof namedTarget>;

async function runStatus(targets: readonly NamedTarget[], { json, watch }: StatusOptions): Promise<number> {
  const intervalMs = readIntervalMs(watch);
  const { formatStatus } = await import('../status/status.js');
  for (;;) {
    const statuses = await Promise.all(targets.map(read));
    const text = json ? JSON.stringify(statuses) : formatStatus(statuses, process.stdout.columns || undefined);
    const clear = watch !== undefined && process.stdout.isTTY && !json ? '\x1b[H\x1b[2J' : '';
    process.stdout.write(`${clear}${text}\n`);
    if (watch === undefined) return exitCodeOf(statuses);
    await wait(intervalMs);
  }
}

async function read({ name, ...target }: Target & { readonly name: string }): Promise<Status> {
  const { readStatus } = await import('../status/status.js');
  const { readClusterStatus } = await import('../status/cluster-status.js');
  try {
    return await withClient(target, async (client) => {
      const info = await client.text('INFO', 'everything');
      if (!/^cluster_enabled:1\r?$/m.test(info)) return readStatus(name, info);
      // A Redis Cluster does not know the question.
      const reply = await client.text('CLUSTER', 'STATUS').catch(() => '');
      return readStatus(name, info, readClusterStatus(reply));
    });
  } catch (error) {
    return { server: name, state: error instanceof Refused ? 'refused' : 'down', reason: (error as Error).message };
  }
}

function exitCodeOf(statuses: readonly Status[]): number {
  if (statuses.some(({ state }) => state === 'down')) return EXIT_UNREACHABLE;
  const isFailing = ({ state, disk, cluster }: Status) =>
    state === 'refused' || disk === 'failing' || (cluster !== undefined && isClusterFailing(cluster));
  return statuses.some(isFailing) ? EXIT_FAILURE : EXIT_OK;
}

/** Seconds, also parts of one, or a duration. */
function readIntervalMs(watch: StatusOptions['watch']): number {
  if (watch === undefined || watch === true) return USUAL_INTERVAL_MS;
  const seconds = Number(watch);
  const intervalMs = Number.isNaN(seconds) ? (parseDuration(watch) ?? Number.NaN) : seconds * 1000;
  if (intervalMs >= SHORTEST_INTERVAL_MS && intervalMs <= LONGEST_INTERVAL_MS) return intervalMs;
  throw new Mistake(`--watch: "${watch}" must be a duration, 100ms to 1d, such as 2s; a bare number is seconds`);
}
