import type { Command } from '../command.js';

export const keyCommands: readonly Command[] = [];
