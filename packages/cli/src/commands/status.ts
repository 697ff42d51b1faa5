import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { Refused, type Target, withClient } from '../client/resp-client.js';
import type { Status } from '../status/status.js';
import { EXIT_FAILURE, EXIT_OK, EXIT_UNREACHABLE } from '../terminal/exit-codes.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { namedTarget, type TargetOptions, withTarget } from '../terminal/targets.js';

const EXAMPLES = `
Examples:
  $ quotadb status
  $ quotadb status us=10.0.0.1:6380 eu=10.0.1.1:6380 --watch 2
  $ quotadb status --json | jq .[0].keys           exit code 3 when one cannot be reached, 1 when one is failing`;

interface StatusOptions extends TargetOptions {
  readonly json?: boolean;
  /** Seconds between two readings; without it there is one. */
  readonly watch?: string | true;
}

/** `quotadb status`: servers at a glance. */
export function statusCommand(program: Command, exit: Exit): void {
  withTarget(program.command('status'))
    .description('servers at a glance: up, busy, full, on disk')
    .argument('[server...]', 'several servers, as host:port or name=host:port')
    .option('--json', 'as JSON')
    .option('--watch [seconds]', 'again and again')
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
  const { formatStatus } = await import('../status/status.js');
  for (;;) {
    const statuses = await Promise.all(targets.map(read));
    const text = json ? JSON.stringify(statuses) : formatStatus(statuses, process.stdout.columns || undefined);
    const clear = watch !== undefined && process.stdout.isTTY && !json ? '\x1b[H\x1b[2J' : '';
    process.stdout.write(`${clear}${text}\n`);
    if (watch === undefined) return exitCodeOf(statuses);
    await wait(Math.max(Number(watch) || 1, 0.1) * 1000);
  }
}

async function read({ name, ...target }: Target & { readonly name: string }): Promise<Status> {
  const { readStatus } = await import('../status/status.js');
  try {
    return readStatus(name, await withClient(target, (client) => client.text('INFO', 'everything')));
  } catch (error) {
    return { server: name, state: error instanceof Refused ? 'refused' : 'down', reason: (error as Error).message };
  }
}

function exitCodeOf(statuses: readonly Status[]): number {
  if (statuses.some(({ state }) => state === 'down')) return EXIT_UNREACHABLE;
  return statuses.some(({ state, disk }) => state === 'refused' || disk === 'failing') ? EXIT_FAILURE : EXIT_OK;
}
