import { type Configuration, type SettingName, settingNames, settingOf } from '@quotadb/config';
import type { Logger } from 'pino';

/** The differences between two readings of the configuration. */
interface ConfigurationChanges {
  /** In the form of CONFIG SET. */
  readonly parameters: readonly [parameter: string, value: string][];
  readonly hasOtherUsers: boolean;
  readonly logLevel: string;
  /** Settings that only a new start can change. */
  readonly needRestart: readonly string[];
}

/**
 * Compares two readings of the same sources. A value that CONFIG SET has changed meanwhile stays, unless the source
 * itself has changed.
 */
export function findChanges(before: Configuration, after: Configuration): ConfigurationChanges {
  const changed = settingNames.filter((name) => name !== 'users' && text(before, name) !== text(after, name));
  const isChangeable = (name: SettingName) => settingOf(name).changeable === true;
  return {
    parameters: changed.filter(isChangeable).map((name) => [settingOf(name).parameter ?? '', text(after, name)]),
    logLevel: after.logLevel,
    hasOtherUsers: JSON.stringify([...before.users]) !== JSON.stringify([...after.users]),
    needRestart: changed
      .filter((name) => !isChangeable(name) && name !== 'logLevel')
      .map((name) => `--${settingOf(name).flag}`),
  };
}

/** Also applies the log level. */
export function logChanges(
  logger: Logger,
  { parameters, hasOtherUsers, needRestart, logLevel }: ConfigurationChanges,
): void {
  logger.level = logLevel;
  const names = parameters.map(([name]) => name);
  logger.info({ changed: hasOtherUsers ? [...names, 'users'] : names }, 'the configuration was read again');
  if (needRestart.length > 0) logger.warn({ needRestart }, 'changed settings that take effect at the next start only');
}

function text(configuration: Configuration, name: SettingName): string {
  return settingOf(name).kind.print(configuration[name]);
}
