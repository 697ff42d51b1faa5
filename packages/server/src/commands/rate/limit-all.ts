import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors.js';
import type { Call, Command } from '../command.js';
import { replyDecision } from './limit.js';
import { costArgument, isKeyRefused, limitArgument, windowArgument } from './limit-arguments.js';
import { noteRate } from './note-rate.js';
import { SlidingCells } from './sliding-cells.js';

const COST = 1;
const FIRST_KEY = 2;
const STEP = 3;
/** Each keeps room for the names of its cells. */
const MAXIMUM_LIMITS = 16;

/** Made when they are first needed; then kept. */
const cellsOfLimits: SlidingCells[] = [];

interface Reading {
  readonly cost: number;
  readonly limits: readonly number[];
}

/** Several limits at once: the request is counted against all of them or, where one denies it, against none. */
export const rateLimitall: Command = {
  name: 'rate.limitall',
  arity: -5,
  flags: ['write', 'denyoom'],
  keys: [FIRST_KEY, -STEP, STEP],
  group: 'rate',
  summary:
    'Counts a request against several sliding windows if it is within all of them, otherwise against none. Returns whether it is, and then what RATE.LIMIT returns for each.',
  since: 'quotadb 0.1.0',
  complexity: 'O(N) where N is the number of limits.',
  syntax: 'cost key limit window-ms [key limit window-ms ...]',
  run: (call) => {
    const reading = read(call);
    if (reading === undefined) return;
    const { engine, reply } = call;
    const { cost, limits } = reading;
    // Deciding and counting are one step: nobody counts in between.
    engine.lockAll();
    let isWithin = true;
    let status: Status = Status.Ok;
    try {
      for (const [index, limit] of limits.entries()) {
        const cells = cellsOfLimits[index]!;
        cells.openCurrent(engine);
        engine.close();
        if (cells.counted + cost > limit) isWithin = false;
      }
      if (isWithin && cost > 0) status = chargeAll(call, limits.length, cost);
    } finally {
      engine.unlock();
    }
    if (status !== Status.Ok) return reply.error(statusError(status));
    reply.array(limits.length + 1);
    reply.integer(isWithin ? 1 : 0);
    for (const [index, limit] of limits.entries()) {
      const cells = cellsOfLimits[index]!;
      const isAllowed = isWithin || cells.counted + cost <= limit;
      noteRate(call, FIRST_KEY + index * STEP, isAllowed);
      replyDecision(call, cells, isAllowed, limit, cost);
    }
  },
};

/** Reads the arguments and finds all cells; undefined having replied with an error. */
function read(call: Call): Reading | undefined {
  const { request, reply, engine } = call;
  const count = (request.argumentCount - FIRST_KEY) / STEP;
  if (!Number.isInteger(count)) {
    reply.error(errors.syntax);
    return undefined;
  }
  if (count > MAXIMUM_LIMITS) {
    reply.error(errors.tooManyLimits(MAXIMUM_LIMITS));
    return undefined;
  }
  const cost = costArgument(call, COST);
  if (Number.isNaN(cost)) return undefined;
  const limits: number[] = [];
  for (let index = 0; index < count; index++) {
    const keyIndex = FIRST_KEY + index * STEP;
    if (isKeyRefused(call, keyIndex)) return undefined;
    const limit = limitArgument(call, keyIndex + 1);
    if (Number.isNaN(limit)) return undefined;
    const windowMs = windowArgument(call, keyIndex + 2);
    if (Number.isNaN(windowMs)) return undefined;
    cellsOfLimits[index] ??= new SlidingCells();
    cellsOfLimits[index]!.locate(engine, request, keyIndex, windowMs);
    limits.push(limit);
  }
  return { cost, limits };
}

/**
 * Counts against all, or against none: first every cell is made, which is where memory can run out, and what is made by then
 * is empty; then the cost is added to cells that are there, which cannot fail. A cell that is named twice is counted in once.
 */
function chargeAll({ engine }: Call, count: number, cost: number): Status {
  for (const amount of [0, cost]) {
    for (let index = 0; index < count; index++) {
      const cells = cellsOfLimits[index]!;
      const isRepeated = cellsOfLimits.slice(0, index).some((earlier) => earlier.isSameCell(cells));
      cells.openCurrent(engine);
      const status = isRepeated ? Status.Ok : cells.charge(engine, amount);
      engine.close();
      if (status !== Status.Ok) return status;
    }
  }
  return Status.Ok;
}
