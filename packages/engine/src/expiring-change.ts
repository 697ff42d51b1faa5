import type { Engine } from './engine.js';
import { Status } from './status.js';

/**
 * A change of the open key together with its expiry: both or neither. An expiry takes a little memory of its own. Where
 * none is left, a counter that should expire must not stay for ever, nor keep an increment that was refused.
 */

export function addExpiring(engine: Engine, high: number, low: number, expiresAtMs: number): Status {
  if (!engine.exists) return expireNewKey(engine, engine.add(high, low), expiresAtMs);
  const previousMs = engine.expiresAtMs;
  const status = engine.expireAt(expiresAtMs);
  if (status !== Status.Ok) return status;
  return restoreUnlessOk(engine, engine.add(high, low), previousMs);
}

export function assignExpiring(engine: Engine, high: number, low: number, expiresAtMs: number): Status {
  // Already over: the value would be gone before any client could read it.
  if (expiresAtMs <= engine.nowMs) return engine.remove();
  if (!engine.exists) return expireNewKey(engine, engine.assign(high, low, false), expiresAtMs);
  const previousMs = engine.expiresAtMs;
  const status = engine.expireAt(expiresAtMs);
  if (status !== Status.Ok) return status;
  return restoreUnlessOk(engine, engine.assign(high, low, true), previousMs);
}

function expireNewKey(engine: Engine, made: Status, expiresAtMs: number): Status {
  if (made !== Status.Ok) return made;
  const status = engine.expireAt(expiresAtMs);
  if (status !== Status.Ok) engine.remove();
  return status;
}

function restoreUnlessOk(engine: Engine, changed: Status, previousMs: number): Status {
  if (changed === Status.Ok) return changed;
  if (previousMs === 0) engine.persist();
  else engine.expireAt(previousMs);
  return changed;
}
