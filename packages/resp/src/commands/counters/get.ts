import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

/** GET and MGET. Like INCR, they allocate nothing. */

export function replyValue(call: Call, index: number): void {
  const request = call.request;
  const engine = call.engine;
  const exists = engine.open(request.input, request.argumentStart[index], request.argumentLength[index]);
  const high = engine.valueHigh;
  const low = engine.valueLow;
  engine.close();
  const { statistics } = call.server;
  if (exists) {
    statistics.keyspaceHits++;
    call.reply.bulkInteger64(high, low);
  } else {
    statistics.keyspaceMisses++;
    call.reply.nil();
  }
}

const define = defineFamily({ flags: ['readonly', 'fast'], group: 'counter', since: '1.0.0' });

export const get = define({
  name: 'get',
  arity: 2,
  keys: [1, 1, 1],
  summary: 'Returns the value of a counter.',
  syntax: 'key',
  run: (call) => replyValue(call, 1),
});

export const mget = define({
  name: 'mget',
  arity: -2,
  keys: [1, -1, 1],
  splits: 'values',
  summary: 'Returns the values of one or more counters.',
  complexity: 'O(N) where N is the number of keys.',
  syntax: 'key [key ...]',
  run: (call) => {
    const { input, argumentStart, argumentLength, argumentCount } = call.request;
    call.reply.array(argumentCount - 1);
    // All at one moment: half of an MSET or of a transaction must not be seen. With one lane it costs nothing.
    const several = argumentCount > 2;
    if (several) call.engine.lockKeys(input, argumentStart, argumentLength, 1, argumentCount, 1);
    for (let index = 1; index < argumentCount; index++) replyValue(call, index);
    if (several) call.engine.unlock();
  },
});
