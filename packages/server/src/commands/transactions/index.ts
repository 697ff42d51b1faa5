import type { Command } from '../command.js';

export const transactionCommands: readonly Command[] = [];
