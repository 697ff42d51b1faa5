import { readFile } from 'node:fs/promises';
import {
  ConfigurationError,
  type ConfigurationSources,
  environmentVariable,
  type SettingName,
  settingOf,
} from '@quotadb/config';
import { type Command, Option } from 'commander';

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user lacks the permission',
};

export type Flags = ConfigurationSources['flags'];

/** Flags from the table of settings, which also checks their values, all at once. */
export function addSettings(command: Command, names: readonly SettingName[]): void {
  for (const name of names) {
    const { flag, kind, help, default: standard, secret } = settingOf(name);
    const value = kind.placeholder === '' ? '' : ` <${kind.placeholder}>`;
    const shown = secret === true ? '' : kind.show(standard);
    const option = new Option(`--${flag}${value}`, shown === '' ? help : `${help} (default: ${shown})`);
    if (Array.isArray(standard))
      option.argParser((item: string, before: string[] | undefined) => [...(before ?? []), item]);
    command.addOption(option);
  }
  command.option('--config <file>', `a YAML or JSON file of settings; ${environmentVariable('config')} names it too`);
}

export function flagsOf(command: Command): Flags {
  return Object.fromEntries(
    command.options.map((option) => [option.long?.slice(2) ?? '', command.getOptionValue(option.attributeName())]),
  );
}

export function configPath(flags: Flags, environment: NodeJS.ProcessEnv): string | undefined {
  const path = flags.config ?? environment[environmentVariable('config')];
  return typeof path === 'string' ? path : undefined;
}

export async function configFile(flags: Flags, environment: NodeJS.ProcessEnv): Promise<ConfigurationSources['file']> {
  const path = configPath(flags, environment);
  if (path === undefined) return undefined;
  try {
    return { path, text: await readFile(path, 'utf8') };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigurationError([`--config: ${path} cannot be read: ${READ_ERRORS[code ?? ''] ?? message}`]);
  }
}

/** Undefined after every mistake was printed. */
export async function orMistakes<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const mistake of error.mistakes) process.stderr.write(`quotadb: ${mistake}\n`);
    return undefined;
  }
}
