import { adminCommands } from './admin/index.js';
import type { Command } from './command.js';
import { connectionCommands } from './connection/index.js';
import { counterCommands } from './counters/index.js';
import { keyCommands } from './keys/index.js';
import { quotaCommands } from './quotas/index.js';
import { rateCommands } from './rate/index.js';
import { replicationCommands } from './replication/index.js';
import { transactionCommands } from './transactions/index.js';
import { windowCommands } from './windows/index.js';

/** Every command there is. */
export const commands: readonly Command[] = [
  ...counterCommands,
  ...windowCommands,
  ...rateCommands,
  ...keyCommands,
  ...connectionCommands,
  ...transactionCommands,
  ...quotaCommands,
  ...replicationCommands,
  ...adminCommands,
];
