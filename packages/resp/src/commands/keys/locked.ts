import type { Engine } from '@quotadb/engine';
import type { Call } from '../../session/command.js';

/** Runs the work with every key locked: nothing else on this node comes in between. Inside MULTI they are locked already. */
export function withAllKeysLocked<Result>(engine: Engine, work: () => Result): Result {
  engine.lockAll();
  try {
    return work();
  } finally {
    engine.unlock();
  }
}

/** The same for the keys of this command: its first argument and every `step`-th after it. */
export function withKeysLocked<Result>({ engine, request }: Call, step: number, work: () => Result): Result {
  const { input, argumentStart, argumentLength, argumentCount } = request;
  engine.lockKeys(input, argumentStart, argumentLength, 1, argumentCount, step);
  try {
    return work();
  } finally {
    engine.unlock();
  }
}
