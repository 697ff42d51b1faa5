import type { Command } from '../command.js';

export const adminCommands: readonly Command[] = [];
