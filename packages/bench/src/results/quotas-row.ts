import type { RunStamp } from './stamp.js';

/** How much of a limit one limiter allowed. */
export interface Admission {
  readonly admitted: number;
  /** Beyond the limit, as a part of it. */
  readonly overAdmission: number;
  /** Of the limit, at most 1. */
  readonly utilisation: number;
}

/** A row of bench/results/quotas: how much of a limit each limiter allowed. Simulated, so it names no machine. */
export interface QuotasRow extends RunStamp {
  readonly regions: number;
  readonly demand: string;
  readonly limit: number;
  readonly asked: number;
  readonly delayMs: number;
  readonly seed: number;
  readonly sides: Readonly<Record<string, Admission>>;
}
