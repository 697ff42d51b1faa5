import { splitInt64 } from '@quotadb/engine';
import { SlidingCells } from '@quotadb/rate';
import { defineCommand } from '../../session/define.js';
import { isKeyRefused, windowArgument } from './limit-arguments.js';

const cells = new SlidingCells();

export const rateCells = defineCommand({
  name: 'rate.cells',
  arity: 3,
  flags: ['readonly'],
  quotaSuffices: true,
  keys: [1, 1, 1],
  group: 'rate',
  summary:
    'Returns the counts that RATE.LIMIT decides on: the start of the current window, its counts here and in other ' +
    'regions, and the same two counts of the window before.',
  since: 'quotadb 0.1.0',
  complexity: 'O(N) where N is the number of regions that counted.',
  syntax: 'key window',
  run: (call) => {
    const { request, reply, engine } = call;
    if (isKeyRefused(call, 1)) return;
    const windowMs = windowArgument(call, 2);
    if (Number.isNaN(windowMs)) return;
    cells.locate(engine, request.input, request.argumentStart[1], request.argumentLength[1], windowMs);
    const { current, previous } = cells.parts(engine);
    reply.array(5);
    reply.integer(cells.startMs);
    for (const count of [current.own, current.foreign, previous.own, previous.foreign])
      reply.integer64(...splitInt64(count));
  },
});
