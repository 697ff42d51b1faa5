import type { Kind } from '../kinds/kinds.js';

/**
 * One setting. The flag is `--max-memory`, its environment variable QUOTADB_MAX_MEMORY, its key in the config file
 * "max-memory"; help, docs/configuration.md and CONFIG GET and SET come from here too.
 */
export interface Setting<Value> {
  readonly flag: string;
  readonly kind: Kind<Value>;
  readonly default: Value;
  readonly help: string;
  /** Its name in CONFIG GET and SET; left out where Redis has no such parameter. */
  readonly parameter?: string;
  /** An older name of the parameter. */
  readonly parameterAlias?: string;
  /** Whether CONFIG SET may change it while the server runs. */
  readonly changeable?: boolean;
  /** Its value is left out of help, the dashboard and the reference. */
  readonly secret?: boolean;
  /** A common environment variable, such as OpenTelemetry's; the QUOTADB_ variable wins over it. */
  readonly standardVariable?: string;
}

/** Infers the type of the setting's value. */
export function setting<Value>(declaration: Setting<Value>): Setting<Value> {
  return declaration;
}

export const MAXIMUM_INT32 = 2_147_483_647;
export const MEBIBYTE = 1024 ** 2;
export const GIBIBYTE = 1024 ** 3;
