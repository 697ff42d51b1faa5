import type { Command } from '../command.js';

export const connectionCommands: readonly Command[] = [];
