import { type Engine, Status } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { type KeyState, writeState } from '../keys/key-state.js';

/**
 * MSET and MSETNX: all keys or none, and no other client of this node sees a part. Memory can run out between two keys,
 * so the previous value of each key is remembered until all are set, and restored where that fails.
 */

interface Previous {
  readonly index: number;
  readonly state: KeyState;
}

function openKey(engine: Engine, request: Request, index: number): boolean {
  return engine.open(request.input, request.argumentStart[index], request.argumentLength[index]);
}

function anyExists({ engine, request }: Call): boolean {
  for (let index = 1; index < request.argumentCount; index += 2) {
    const exists = openKey(engine, request, index);
    engine.close();
    if (exists) return true;
  }
  return false;
}

function assignAll({ engine, request }: Call): Status {
  const previous: Previous[] = [];
  for (let index = 1; index < request.argumentCount; index += 2) {
    integerArgument(request, index + 1);
    const exists = openKey(engine, request, index);
    const { valueHigh, valueLow, expiresAtMs } = engine;
    const status = engine.assign(integerHalves[0], integerHalves[1], false);
    engine.close();
    if (status !== Status.Ok) {
      putBack(engine, request, previous);
      return status;
    }
    previous.push({ index, state: { exists, valueHigh, valueLow, expiresAtMs } });
  }
  return Status.Ok;
}

/** Latest first, so that a key named twice gets its first previous value back. */
function putBack(engine: Engine, request: Request, previous: readonly Previous[]): void {
  for (const { index, state } of previous.toReversed()) {
    openKey(engine, request, index);
    writeState(engine, state);
    engine.close();
  }
}

/** Runs the work with the keys of the command locked. */
function withKeysLocked<Result>({ engine, request }: Call, work: () => Result): Result {
  const { input, argumentStart, argumentLength, argumentCount } = request;
  engine.lockKeys(input, argumentStart, argumentLength, 1, argumentCount, 2);
  try {
    return work();
  } finally {
    engine.unlock();
  }
}

/** Whether the request is well formed; replies with an error where it is not. */
function isValid({ request, reply }: Call, commandName: string): boolean {
  if (request.argumentCount % 2 === 0) {
    reply.error(errors.wrongArity(commandName));
    return false;
  }
  for (let index = 2; index < request.argumentCount; index += 2) {
    if (!integerArgument(request, index)) {
      reply.error(errors.valueNotAnInteger(quotedArgument(request, index)));
      return false;
    }
  }
  return true;
}

const define = defineFamily({
  arity: -3,
  flags: ['write', 'denyoom'],
  keys: [1, -1, 2],
  group: 'counter',
  since: '1.0.1',
  complexity: 'O(N) where N is the number of keys.',
  syntax: 'key value [key value ...]',
});

export const mset = define({
  name: 'mset',
  splits: 'status',
  summary: 'Sets one or more counters, all of them or none.',
  run: (call) => {
    if (!isValid(call, 'mset')) return;
    const status = withKeysLocked(call, () => assignAll(call));
    if (status === Status.Ok) call.reply.ok();
    else call.reply.error(statusError(status));
  },
});

export const msetnx = define({
  name: 'msetnx',
  summary: 'Sets one or more counters, only where none of the keys exists.',
  run: (call) => {
    if (!isValid(call, 'msetnx')) return;
    const status = withKeysLocked(call, () => (anyExists(call) ? undefined : assignAll(call)));
    if (status === undefined) call.reply.integer(0);
    else if (status === Status.Ok) call.reply.integer(1);
    else call.reply.error(statusError(status));
  },
});
