import { resolve } from 'node:path';
import { Mistake } from '../kinds/mistake.js';
import { checkTogether } from './rules.js';
import { backupDirectoryOf, type Configuration, type SettingName, settingNames, settingOf } from './table.js';

/**
 * The parameters of CONFIG GET and SET: settings under Redis's names, and a few fixed parameters that clients and tools
 * read. CONFIG SET accepts a fixed parameter with the value that it has.
 */
export const fixedParameters: Readonly<Record<string, string>> = {
  save: '',
  'cluster-enabled': 'no',
  hz: '10',
  'maxmemory-policy': 'noeviction',
  'notify-keyspace-events': '',
  'proto-max-bulk-len': String(512 * 1024 * 1024),
};

/** Parameters that follow from settings of another form. */
const derivedParameters: Readonly<Record<string, (configuration: Configuration) => string>> = {
  appendonly: ({ dataDirectory }) => (dataDirectory === '' ? 'no' : 'yes'),
  'backup-dir': (configuration) =>
    configuration.dataDirectory === '' ? '' : resolve(backupDirectoryOf(configuration)),
  appendfsync: ({ fsync }) => (fsync === 'always' ? 'always' : fsync === 'never' ? 'no' : 'everysec'),
};

const settingByParameter: ReadonlyMap<string, SettingName> = new Map(
  settingNames.flatMap((name) => {
    const { parameter, parameterAlias } = settingOf(name);
    return [parameter, parameterAlias].flatMap((word) => (word === undefined ? [] : [[word, name] as const]));
  }),
);

export function parameterNames(): string[] {
  return [...settingByParameter.keys(), ...Object.keys(fixedParameters), ...Object.keys(derivedParameters)];
}

export function printParameter(configuration: Configuration, parameter: string): string {
  const name = settingByParameter.get(parameter);
  if (name === undefined) return derivedParameters[parameter]?.(configuration) ?? fixedParameters[parameter] ?? '';
  return settingOf(name).kind.print(configuration[name]);
}

/** Why a parameter cannot be set. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
  readonly parameter: string;
  readonly unknown: boolean;

  constructor(parameter: string, reason: string, unknown = false) {
    super(reason);
    this.parameter = parameter;
    this.unknown = unknown;
  }
}

/** Makes all changes, or throws a ParameterError and makes none. */
export function changeParameters(
  configuration: Configuration,
  changes: readonly (readonly [parameter: string, value: string])[],
): void {
  const changed: Record<string, unknown> = { ...configuration };
  const seen = new Set<string>();
  for (const [parameter, value] of changes) {
    if (!parameterNames().includes(parameter)) {
      throw new ParameterError(parameter, 'no such parameter', true);
    }
    if (seen.has(parameter)) throw new ParameterError(parameter, 'duplicate parameter');
    seen.add(parameter);
    change(changed, parameter, value);
  }
  const [mistake] = checkTogether(changed as Configuration);
  if (mistake !== undefined) throw new ParameterError([...seen].join(', '), mistake);
  Object.assign(configuration, changed);
}

function change(changed: Record<string, unknown>, parameter: string, value: string): void {
  const name = settingByParameter.get(parameter);
  if (name === undefined) {
    if (value !== printParameter(changed as Configuration, parameter))
      throw new ParameterError(parameter, "can't set immutable config");
    return;
  }
  const { kind, changeable } = settingOf(name);
  try {
    const parsed = kind.parse(value);
    if (changeable !== true && kind.print(parsed) !== kind.print(changed[name])) {
      throw new Mistake("can't set immutable config");
    }
    changed[name] = parsed;
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    throw new ParameterError(parameter, settingOf(name).secret === true ? error.reason : error.message);
  }
}
