export { Access } from './access.js';
export { integer, type Kind, text } from './kinds.js';
export { ConfigurationError, type ConfigurationSources, loadConfiguration } from './load.js';
export { Mistake } from './mistake.js';
export { changeParameters, fixedParameters, ParameterError, parameterNames, printParameter } from './parameters.js';
export { checkRegion, parseAddress, printAddress } from './peer-address.js';
export { isRoleMissing, Need, needsOf, type Role, roleOf } from './roles.js';
export { checkTogether, hasCertificates } from './rules.js';
export { createToken, hashPassword, hashToken, isPasswordHash, passwordMatches } from './secrets.js';
export { parseSizeBytes } from './size.js';
export {
  type Configuration,
  defaultConfiguration,
  environmentVariable,
  type SettingName,
  settingNames,
  settingOf,
  settings,
} from './table.js';
export { DEFAULT_USER, defaultUser, lacksOfClient, User, type UserRecord, type Users } from './user.js';
export { QUOTADB_VERSION, REDIS_VERSION } from './version.js';
