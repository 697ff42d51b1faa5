import { setTimeout as wait } from 'node:timers/promises';
import { Refused, RespClient, type Target } from '../client/resp-client.js';
import { formatStatus, readStatus, type Status } from '../status/status.js';
import { EXIT_FAILURE, EXIT_OK, EXIT_UNREACHABLE } from '../terminal/exit-codes.js';

export interface StatusOptions {
  readonly json?: boolean;
  /** Seconds between two looks; without it one look is enough. */
  readonly watch?: string;
}

/** Servers at a glance. Exit code 3 says that one of them could not be reached, 1 that one of them would not answer or is failing. */
export async function runStatus(
  targets: readonly (Target & { readonly name: string })[],
  { json, watch }: StatusOptions,
): Promise<number> {
  for (;;) {
    const statuses = await Promise.all(targets.map(look));
    const text = json ? JSON.stringify(statuses) : formatStatus(statuses, process.stdout.columns || undefined);
    const clear = watch !== undefined && process.stdout.isTTY && !json ? '\x1b[H\x1b[2J' : '';
    process.stdout.write(`${clear}${text}\n`);
    if (watch === undefined) return exitCode(statuses);
    await wait(Math.max(Number(watch) || 1, 0.1) * 1000);
  }
}

async function look({ name, ...target }: Target & { readonly name: string }): Promise<Status> {
  let client: RespClient | undefined;
  try {
    client = await RespClient.open(target);
    return readStatus(name, await client.text('INFO', 'everything'));
  } catch (error) {
    return { server: name, state: error instanceof Refused ? 'refused' : 'down', reason: (error as Error).message };
  } finally {
    client?.close();
  }
}

function exitCode(statuses: readonly Status[]): number {
  if (statuses.some(({ state }) => state === 'down')) return EXIT_UNREACHABLE;
  return statuses.some(({ state, disk }) => state === 'refused' || disk === 'failing') ? EXIT_FAILURE : EXIT_OK;
}
