import { type Configuration, doorsWithoutKey, type SettingName, settingNames, settingOf } from '@quotadb/config';
import { findUnknownCommands } from '@quotadb/resp';
import type { Logger } from 'pino';
import { looseFileModes } from '../access/file-modes.js';
import type { LoginQueue } from '../access/login-queue.js';
import type { Certificates } from '../tls/certificates.js';
import type { Lanes } from './lanes.js';

interface ReloaderOptions {
  /** In force; CONFIG SET and `reload()` change it. */
  readonly config: Configuration;
  /** Reads it again; undefined where it does not come from sources that can be. */
  readonly reread: (() => Promise<Configuration>) | undefined;
  /** The file that it was read from, if it was. */
  readonly configFile: string | undefined;
  readonly logger: Logger;
  readonly logins: LoginQueue;
  readonly certificates: Certificates | undefined;
  readonly lanes: Lanes;
  /** Reads the files again that the configuration names. */
  readonly readFiles: () => Promise<void>;
}

/** Reads the configuration of a running server again. */
export class Reloader {
  private readonly options: ReloaderOptions;
  /** The configuration as it was last read. */
  private configured: Configuration;

  constructor(options: ReloaderOptions) {
    this.options = options;
    this.configured = { ...options.config };
  }

  /** Applies every setting that can change at run time; or rejects, unchanged. */
  async reload(): Promise<void> {
    const { reread, certificates, lanes, logins, logger, readFiles } = this.options;
    if (reread === undefined) throw new Error('this server was started without a configuration that can be read again');
    const found = await reread();
    const unknown = findUnknownCommands(found.users);
    if (unknown.length > 0) throw new Error(unknown.join('; '));
    certificates?.reload();
    const changes = findChanges(this.configured, found);
    this.configured = found;
    await lanes.ask('configure', changes.parameters);
    if (changes.hasOtherUsers) await lanes.ask('users', found.users);
    logins.dropStale();
    logChanges(logger, changes);
    this.warnOfAccess();
    await readFiles();
  }

  /** At the start, and when the configuration was read again. */
  warnOfAccess(): void {
    const { config, configFile, logger } = this.options;
    for (const sentence of [...doorsWithoutKey(config), ...looseFileModes(config, configFile)]) logger.warn(sentence);
  }
}

/** The differences between two readings of the configuration. */
interface ConfigurationChanges {
  /** Settings that can change while the server runs, as CONFIG SET takes them. */
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
function findChanges(before: Configuration, after: Configuration): ConfigurationChanges {
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
function logChanges(logger: Logger, { parameters, hasOtherUsers, needRestart, logLevel }: ConfigurationChanges): void {
  logger.level = logLevel;
  const names = parameters.map(([name]) => name);
  logger.info({ changed: hasOtherUsers ? [...names, 'users'] : names }, 'the configuration was read again');
  if (needRestart.length > 0) logger.warn({ needRestart }, 'changed settings that take effect at the next start only');
}

function text(configuration: Configuration, name: SettingName): string {
  return settingOf(name).kind.print(configuration[name]);
}
