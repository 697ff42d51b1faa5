import type { Command } from '../../session/command.js';
import { evaluations } from './eval.js';
import { functionCalls, functionCommand } from './function.js';
import { script } from './script.js';

export const scriptCommands: readonly Command[] = [...evaluations, ...functionCalls, functionCommand, script];
