import { assignExpiring, type ByteInput, type Engine, type Status } from '@quotadb/engine';

/** What a client can see of a key, to be written to another key, or back. */
export interface KeyState {
  readonly exists: boolean;
  readonly valueHigh: number;
  readonly valueLow: number;
  readonly expiresAtMs: number;
}

/** Opens a key, calls `work` with what it holds, and closes it. */
export function withKey<Result>(
  engine: Engine,
  input: ByteInput,
  start: number,
  length: number,
  work: (state: KeyState) => Result,
): Result {
  const exists = engine.open(input, start, length);
  const { valueHigh, valueLow, expiresAtMs } = engine;
  const result = work({ exists, valueHigh, valueLow, expiresAtMs });
  engine.close();
  return result;
}

/** Makes the open key hold this. */
export function writeState(engine: Engine, { exists, valueHigh, valueLow, expiresAtMs }: KeyState): Status {
  if (!exists) return engine.remove();
  if (expiresAtMs === 0) return engine.assign(valueHigh, valueLow, false);
  return assignExpiring(engine, valueHigh, valueLow, expiresAtMs);
}
