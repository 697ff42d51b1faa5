import { Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

/**
 * INCR, DECR, INCRBY and DECRBY. This is the hot path of the benchmarks: it allocates nothing, and makes a string only
 * for an error.
 */

const LOWEST_HIGH = -0x8000_0000;

function addAndReply(call: Call, amountHigh: number, amountLow: number): void {
  const request = call.request;
  const engine = call.engine;
  engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
  const status = engine.add(amountHigh, amountLow);
  const high = engine.valueHigh;
  const low = engine.valueLow;
  engine.close();
  if (status === Status.Ok) call.reply.integer64(high, low);
  else call.reply.error(statusError(status));
}

const define = defineFamily({
  flags: ['write', 'denyoom', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  since: '1.0.0',
});

export const incr = define({
  name: 'incr',
  arity: 2,
  summary: 'Increments a counter by one. A key that does not exist counts from 0.',
  syntax: 'key',
  run: (call) => addAndReply(call, 0, 1),
});

export const decr = define({
  name: 'decr',
  arity: 2,
  summary: 'Decrements a counter by one. A key that does not exist counts from 0.',
  syntax: 'key',
  run: (call) => addAndReply(call, -1, -1),
});

export const incrby = define({
  name: 'incrby',
  arity: 3,
  summary: 'Increments a counter by a number. A key that does not exist counts from 0.',
  syntax: 'key increment',
  run: (call) => {
    if (!integerArgument(call.request, 2)) call.reply.error(errors.notAnInteger);
    else addAndReply(call, integerHalves[0], integerHalves[1]);
  },
});

export const decrby = define({
  name: 'decrby',
  arity: 3,
  summary: 'Decrements a counter by a number. A key that does not exist counts from 0.',
  syntax: 'key decrement',
  run: (call) => {
    if (!integerArgument(call.request, 2)) return call.reply.error(errors.notAnInteger);
    const high = integerHalves[0];
    const low = integerHalves[1];
    // −2^63 has no positive counterpart.
    if (high === LOWEST_HIGH && low === 0) return call.reply.error(errors.decrementOverflow);
    addAndReply(call, low === 0 ? -high : ~high, -low | 0);
  },
});
