import type { Command } from '../../session/command.js';
import { rateCells } from './cells.js';
import { rateGcra } from './gcra.js';
import { rateAdd, rateLimit, ratePeek } from './limit.js';
import { rateLimitall } from './limit-all.js';

export const rateCommands: readonly Command[] = [rateLimit, ratePeek, rateAdd, rateLimitall, rateCells, rateGcra];
