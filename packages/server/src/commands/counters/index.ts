import type { Command } from '../command.js';

export const counterCommands: readonly Command[] = [];
