import { cpus } from 'node:os';

/** Of all processors since the start of the machine, in milliseconds. */
export interface IdleSample {
  readonly idleMs: number;
  readonly totalMs: number;
}

export function sampleIdle(): IdleSample {
  let idleMs = 0;
  let totalMs = 0;
  for (const { times } of cpus()) {
    idleMs += times.idle;
    for (const ms of Object.values(times)) totalMs += ms;
  }
  return { idleMs, totalMs };
}

/** The idle share of the machine between two samples: small where other programs disturbed a measurement. */
export function idleShareBetween(before: IdleSample, after: IdleSample): number {
  const totalMs = after.totalMs - before.totalMs;
  return totalMs === 0 ? 1 : (after.idleMs - before.idleMs) / totalMs;
}
