import type { Engine } from '@quotadb/engine';

/** Runs the work with every key locked: nothing else on this node comes in between. Inside MULTI they are locked already. */
export function withAllKeysLocked<Result>(engine: Engine, work: () => Result): Result {
  engine.lockAll();
  try {
    return work();
  } finally {
    engine.unlockAll();
  }
}
