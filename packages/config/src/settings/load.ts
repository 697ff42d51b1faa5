import { Mistake } from '../kinds/mistake.js';
import { type Given, readConfigFile } from './config-file.js';
import { checkTogether } from './rules.js';
import {
  type Configuration,
  defaultConfiguration,
  environmentVariable,
  type SettingName,
  settingNames,
  settingOf,
} from './table.js';

export interface ConfigurationSources {
  /** The values of the command line, by flag. */
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The config file, if one was named. */
  readonly file?: { readonly path: string; readonly text: string } | undefined;
}

/** All mistakes together, so that one start shows every one. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

/** The settings that a program has; all others keep their defaults, wherever they are given. */
export interface ConfigurationScope {
  readonly names: readonly SettingName[];
  /** The mistakes of settings that do not fit together. */
  readonly check: (configuration: Configuration) => readonly string[];
}

const wholeServer: ConfigurationScope = { names: settingNames, check: checkTogether };

/** A flag wins over the environment, the environment over the file, the file over the default. */
export function loadConfiguration(sources: ConfigurationSources, { names, check } = wholeServer): Configuration {
  const mistakes: string[] = [];
  const { file: source } = sources;
  const file = source === undefined ? new Map() : readConfigFile(source.path, source.text, mistakes);
  const configuration: Record<string, unknown> = defaultConfiguration();
  for (const name of names) {
    const given = find(name, sources, file);
    if (given === undefined) continue;
    try {
      configuration[name] = readValue(name, given.value);
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      mistakes.push(`${given.from}: ${settingOf(name).secret === true ? error.reason : error.message}`);
    }
  }
  mistakes.push(...check(configuration as Configuration));
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return configuration as Configuration;
}

function find(name: SettingName, sources: ConfigurationSources, file: Map<string, Given>): Given | undefined {
  const { flag, standardVariable } = settingOf(name);
  const onCommandLine = sources.flags[flag];
  if (onCommandLine !== undefined) return { value: onCommandLine, from: `--${flag}` };
  const variable = environmentVariable(flag);
  const inEnvironment = sources.environment[variable];
  if (inEnvironment !== undefined) return { value: inEnvironment, from: variable };
  const inFile = file.get(flag);
  if (inFile !== undefined || standardVariable === undefined) return inFile;
  const standard = sources.environment[standardVariable];
  return standard === undefined ? undefined : { value: standard, from: standardVariable };
}

function readValue(name: SettingName, value: unknown): unknown {
  const { kind } = settingOf(name);
  if (kind.read !== undefined && typeof value === 'object' && value !== null) return kind.read(value);
  if (Array.isArray(value)) {
    if (!Array.isArray(settingOf(name).default)) throw new Mistake('can be given once only, and is a list');
    return value.flatMap((item) => kind.parse(String(item)));
  }
  if (value === null) throw new Mistake(`has no value: it must be ${kind.range}`);
  if (typeof value === 'object') throw new Mistake(`cannot be an object: it must be ${kind.range}`);
  return kind.parse(String(value));
}
