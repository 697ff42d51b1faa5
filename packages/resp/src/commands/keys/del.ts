import { Status } from '@quotadb/engine';
import { statusError } from '../../errors/errors.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

/**
 * DEL and UNLINK. Freeing a counter is too little work to defer, so the two are the same. Keys are deleted one by one,
 * in order, under one lock; a key that may not be deleted ends the command with an error, and those before it stay
 * deleted.
 */
function remove({ request, reply, engine }: Call): void {
  const { input, argumentStart, argumentLength } = request;
  let removed = 0;
  let status: Status = Status.Ok;
  const several = request.argumentCount > 2;
  if (several) engine.lockKeys(input, argumentStart, argumentLength, 1, request.argumentCount, 1);
  for (let index = 1; index < request.argumentCount && status === Status.Ok; index++) {
    if (engine.open(input, argumentStart[index], argumentLength[index])) {
      status = engine.remove();
      removed++;
    }
    engine.close();
  }
  if (several) engine.unlock();
  if (status === Status.Ok) reply.integer(removed);
  else reply.error(statusError(status));
}

const define = defineFamily({
  arity: -2,
  keys: [1, -1, 1],
  splits: 'sum',
  group: 'generic',
  complexity: 'O(N) where N is the number of keys.',
  syntax: 'key [key ...]',
  run: remove,
});

export const del = define({
  name: 'del',
  flags: ['write'],
  summary: 'Deletes one or more keys.',
  since: '1.0.0',
});

export const unlink = define({
  name: 'unlink',
  flags: ['write', 'fast'],
  summary: 'Deletes one or more keys; the same as DEL here.',
  since: '4.0.0',
});
