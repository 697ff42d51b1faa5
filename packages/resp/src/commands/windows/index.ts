import type { Command } from '../../session/command.js';
import { windowGet } from './get.js';
import { windowIncrby } from './incrby.js';

export const windowCommands: readonly Command[] = [windowIncrby, windowGet];
