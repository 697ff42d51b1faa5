import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import { defineCommand } from '../../session/define.js';
import { cell, chooseWindow, replyWindow } from './window-arguments.js';

const AMOUNT = 3;
const OPTIONS = 4;

/** Like INCRBYEX it allocates nothing, once the cell of the window exists. */
export const windowIncrby = defineCommand({
  name: 'window.incrby',
  arity: -4,
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'window',
  summary:
    "Counts in a fixed window of time: the node's current one, or the one that begins at START. A window is a " +
    'duration, or one of the calendar: hour, day, week or month, with a time zone and the day that it begins on ' +
    "(month@Europe/Berlin:15). Returns the count, the window's start and its end.",
  since: 'quotadb 0.1.0',
  syntax: 'key window amount [START start-ms]',
  run: (call) => {
    const { request, reply, engine } = call;
    if (!chooseWindow(call, OPTIONS)) return;
    const isInteger = integerArgument(request, AMOUNT);
    const amountHigh = integerHalves[0];
    const amountLow = integerHalves[1];
    if (!isInteger || amountHigh < 0)
      return reply.error(errors.notBetween('amount', quotedArgument(request, AMOUNT), 0, '9223372036854775807'));
    if (cell.isOver(engine)) return reply.error(errors.windowOver);

    const { input, argumentStart, argumentLength } = request;
    const status = cell.increment(engine, input, argumentStart[1], argumentLength[1], amountHigh, amountLow);
    if (status === Status.Ok) replyWindow(call);
    else reply.error(statusError(status));
  },
});
