import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

/** EXISTS and TOUCH: both reply with how many of the keys exist, a key named twice counting twice. */
function countExisting({ request, reply, engine }: Call): void {
  const { input, argumentStart, argumentLength } = request;
  let found = 0;
  // All at one moment, as MGET.
  const several = request.argumentCount > 2;
  if (several) engine.lockKeys(input, argumentStart, argumentLength, 1, request.argumentCount, 1);
  for (let index = 1; index < request.argumentCount; index++) {
    if (engine.open(input, argumentStart[index], argumentLength[index])) found++;
    engine.close();
  }
  if (several) engine.unlock();
  reply.integer(found);
}

const define = defineFamily({
  arity: -2,
  flags: ['readonly', 'fast'],
  keys: [1, -1, 1],
  splits: 'sum',
  group: 'generic',
  complexity: 'O(N) where N is the number of keys.',
  syntax: 'key [key ...]',
  run: countExisting,
});

export const exists = define({
  name: 'exists',
  summary: 'Counts how many of the given keys exist.',
  since: '1.0.0',
});

export const touch = define({
  name: 'touch',
  summary: 'Counts how many of the given keys exist; access times are not kept.',
  since: '3.2.1',
});
