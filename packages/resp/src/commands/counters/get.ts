import type { Call, Command } from '../../session/command.js';

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

export const get: Command = {
  name: 'get',
  arity: 2,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'counter',
  summary: 'Returns the value of a counter.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: 'key',
  run: (call) => replyValue(call, 1),
};

export const mget: Command = {
  name: 'mget',
  arity: -2,
  flags: ['readonly', 'fast'],
  keys: [1, -1, 1],
  group: 'counter',
  summary: 'Returns the values of one or more counters.',
  since: '1.0.0',
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
};
