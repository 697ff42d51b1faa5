import type { Command } from '../command.js';
import { rateCells } from './cells.js';
import { rateGcra } from './gcra.js';
import { rateLimit, ratePeek } from './limit.js';
import { rateLimitall } from './limit-all.js';

export const rateCommands: readonly Command[] = [rateLimit, ratePeek, rateLimitall, rateCells, rateGcra];
