/**
 * Settings, users and permissions.
 *
 * Every setting is declared once, in `settings/` by capability: flag, environment variable, key of the config file,
 * CONFIG parameter, default, bounds and help. `loadConfiguration` reads flags over environment over file over defaults
 * and throws all mistakes at once; nothing else in QuotaDB reads the environment for settings.
 *
 * Cost: loading happens at the start and on SIGHUP. The access check of a command is one AND of two bit sets (`Need`);
 * a login of a user costs one scrypt hash, a token one SHA-256.
 * Bounds: 10,000 users, each with 64 key prefixes and 16 secrets; 10,000 feeds; scrypt hashes of up to 128 MiB.
 */

// Users, roles and secrets.
export { Access } from './access/access.js';
export { areDoorsOpen, doorsWithoutKey, hasCredentials, mayReplicateInPlaintext } from './access/doors.js';
export { isRoleMissing, Need, needsOf, type Role, roleOf, STATE_NEEDS } from './access/roles.js';
export { createToken, hashPassword, hashToken, isPasswordHash, passwordMatches } from './access/secrets.js';
export { DEFAULT_USER, defaultUser, lacksOfClient, User, type UserRecord, type Users } from './access/user.js';

export { usesColors } from './colors.js';

// Kinds of values.
export { duration } from './kinds/duration.js';
export { integer, type Kind, text } from './kinds/kinds.js';
export { Mistake } from './kinds/mistake.js';
export { checkServerName, parseAddress, printAddress } from './kinds/peer-address.js';
// Loading and the table of settings.
export { clusterTool } from './settings/cluster-tool.js';
export { countsAlone } from './settings/counts-alone.js';
export { ConfigurationError, type ConfigurationSources, loadConfiguration } from './settings/load.js';
// CONFIG GET and SET.
export {
  changeParameters,
  fixedParameters,
  ParameterError,
  parameterNames,
  printParameter,
} from './settings/parameters.js';
export { checkTogether, hasCertificates, hasClusterMap } from './settings/rules.js';
export {
  backupDirectoryOf,
  type Configuration,
  defaultConfiguration,
  environmentVariable,
  peersOf,
  type SettingName,
  settingNames,
  settingOf,
  settings,
} from './settings/table.js';

// Versions.
export { QUOTADB_VERSION, REDIS_VERSION } from './version.js';
