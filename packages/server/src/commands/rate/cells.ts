import { joinInt64, splitInt64 } from '@quotadb/engine';
import type { Call, Command } from '../command.js';
import { isKeyRefused, windowArgument } from './limit-arguments.js';
import { SlidingCells } from './sliding-cells.js';

const cells = new SlidingCells();

/** What a decision is made from, with what this node counted apart from what it was told by others. */
export const rateCells: Command = {
  name: 'rate.cells',
  arity: 3,
  flags: ['readonly'],
  quotaSuffices: true,
  keys: [1, 1, 1],
  group: 'rate',
  summary:
    'Returns what RATE.LIMIT decides from: the start of the current window, what was counted in it here and elsewhere, and the same two for the window before.',
  since: 'quotadb 0.1.0',
  complexity: 'O(N) where N is the number of regions that counted.',
  syntax: 'key window-ms',
  run: (call) => {
    const { request, reply, engine } = call;
    if (isKeyRefused(call, 1)) return;
    const windowMs = windowArgument(call, 2);
    if (Number.isNaN(windowMs)) return;
    cells.locate(engine, request, 1, windowMs);
    reply.array(5);
    reply.integer(cells.startMs);
    cells.openCurrent(engine);
    replyParts(call);
    cells.openPrevious(engine);
    replyParts(call);
  },
};

/** Own and foreign part of the open cell, which is closed. */
function replyParts({ engine, reply }: Call): void {
  const foreign = engine.foreignValue();
  const own = joinInt64(engine.valueHigh, engine.valueLow) - foreign;
  engine.close();
  reply.integer64(...splitInt64(own));
  reply.integer64(...splitInt64(foreign));
}
