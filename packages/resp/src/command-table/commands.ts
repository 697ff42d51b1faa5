import { adminCommands } from '../commands/admin/index.js';
import { clusterCommands } from '../commands/cluster/index.js';
import { connectionCommands } from '../commands/connection/index.js';
import { counterCommands } from '../commands/counters/index.js';
import { keyCommands } from '../commands/keys/index.js';
import { limitCommands } from '../commands/limits/index.js';
import { quotaCommands } from '../commands/quotas/index.js';
import { rateCommands } from '../commands/rate/index.js';
import { replicationCommands } from '../commands/replication/index.js';
import { scriptCommands } from '../commands/scripts/index.js';
import { transactionCommands } from '../commands/transactions/index.js';
import { windowCommands } from '../commands/windows/index.js';
import type { Command } from '../session/command.js';

/** Every command there is. */
export const commands: readonly Command[] = [
  ...counterCommands,
  ...windowCommands,
  ...rateCommands,
  ...keyCommands,
  ...connectionCommands,
  ...clusterCommands,
  ...transactionCommands,
  ...scriptCommands,
  ...limitCommands,
  ...quotaCommands,
  ...replicationCommands,
  ...adminCommands,
];
