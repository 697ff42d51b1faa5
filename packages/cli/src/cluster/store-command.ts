import type { MapStore } from '@quotadb/cluster';
import { clusterTool, loadConfiguration } from '@quotadb/config';
import type { Command } from 'commander';
import { EXIT_USAGE } from '../terminal/exit-codes.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { addSettings, configFile, flagsOf, orMistakes } from '../terminal/settings.js';

/** A subcommand of `quotadb cluster`: it works on the map in etcd, which its settings name. */
export interface StoreCommand {
  /** The name and the arguments. */
  readonly usage: string;
  readonly description: string;
  readonly options: readonly (readonly [flags: string, description: string, isRequired?: true])[];
  /** Gets the arguments and the options as they were given. */
  run(
    store: MapStore,
    words: readonly string[],
    options: Readonly<Record<string, unknown>>,
  ): Promise<number | undefined>;
}

export function addStoreCommand(parent: Command, exit: Exit, declared: StoreCommand): void {
  const command = parent.command(declared.usage).description(declared.description);
  for (const [flags, description, isRequired] of declared.options) {
    if (isRequired) command.requiredOption(flags, description);
    else command.option(flags, description);
  }
  command.option('--json', 'as JSON');
  addSettings(command, clusterTool.names);
  command.action(() => runCommand(exit, () => runOnStore(command, declared)));
}

async function runOnStore(command: Command, { run }: StoreCommand): Promise<number | undefined> {
  const flags = flagsOf(command);
  const { env: environment } = process;
  const config = await orMistakes(async () =>
    loadConfiguration({ flags, environment, file: await configFile(flags, environment) }, clusterTool),
  );
  if (config === undefined) return EXIT_USAGE;
  const { openEtcd } = await import('@quotadb/server/etcd');
  const { store } = openEtcd(config);
  try {
    return await run(store, command.args, command.opts());
  } finally {
    await store.stop();
  }
}
