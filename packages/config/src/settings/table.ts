import { join } from 'node:path';
import { serverName } from '@quotadb/wire';
import type { PeerAddress } from '../kinds/peer-address.js';
import { clusterSettings } from './cluster.js';
import { countsSettings } from './counts.js';
import { envoySettings } from './envoy.js';
import { limitsSettings } from './limits.js';
import { networkSettings } from './network.js';
import { observabilitySettings } from './observability.js';
import { replicationSettings } from './replication.js';
import { securitySettings } from './security.js';
import type { Setting } from './setting.js';
import { storageSettings } from './storage.js';

/** Every setting, once. */
export const settings = {
  ...networkSettings,
  ...securitySettings,
  ...storageSettings,
  ...replicationSettings,
  ...clusterSettings,
  ...limitsSettings,
  ...envoySettings,
  ...countsSettings,
  ...observabilitySettings,
};

/** The values of all settings; those that are changeable change in place. */
export type Configuration = {
  -readonly [Name in keyof typeof settings]: (typeof settings)[Name] extends Setting<infer Value> ? Value : never;
};

/** The directory that BACKUP writes to. */
export function backupDirectoryOf({ backupDirectory, dataDirectory }: Configuration): string {
  return backupDirectory === '' ? join(dataDirectory, 'backups') : backupDirectory;
}

/** The other servers: those of --peer, and those of --mesh without this one. */
export function peersOf(configuration: Configuration): readonly PeerAddress[] {
  const { peers, mesh } = configuration;
  return [...peers, ...mesh.filter((other) => other.region !== serverName(configuration))];
}

export type SettingName = keyof Configuration;

export const settingNames = Object.keys(settings) as SettingName[];

export function defaultConfiguration(): Configuration {
  return Object.fromEntries(settingNames.map((name) => [name, settings[name].default])) as Configuration;
}

/** The entry of the table without the type of its value, for code that treats all settings alike. */
export function settingOf(name: SettingName): Setting<unknown> {
  return settings[name] as Setting<unknown>;
}

export function environmentVariable(flag: string): string {
  return `QUOTADB_${flag.toUpperCase().replaceAll('-', '_')}`;
}
