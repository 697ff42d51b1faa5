import type { Command } from '../../session/command.js';
import { discard } from './discard.js';
import { exec } from './exec.js';
import { multi } from './multi.js';
import { unwatch, watch } from './watch.js';

export const transactionCommands: readonly Command[] = [multi, exec, discard, watch, unwatch];
