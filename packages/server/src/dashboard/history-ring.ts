/**
 * A figure's past in steps of one length, in memory that is taken once. Each step has one value for each field; NaN
 * stands for "not known".
 *
 * Samples of the same step become one value as the field says:
 *
 *   mean      weighted by the time that each sample stands for: rates
 *   highest   latencies, lags: a peak must not vanish when steps widen
 */
export type Summary = 'mean' | 'highest';

export class HistoryRing {
  readonly stepMs: number;
  readonly steps: number;
  private readonly summaries: readonly Summary[];
  /** All fields of a step side by side, at `(ordinal of the step % steps) × fields`. */
  private readonly values: Float64Array;
  /** The weighted sum of each field in the newest step, and its weights. */
  private readonly sums: Float64Array;
  private readonly weights: Float64Array;
  /** The newest step, counted from 1970; -1 before the first sample. */
  private newest = -1;
  /** How many steps have been begun or skipped, at most all. */
  private filled = 0;

  constructor(stepMs: number, steps: number, summaries: readonly Summary[]) {
    this.stepMs = stepMs;
    this.steps = steps;
    this.summaries = summaries;
    this.values = new Float64Array(steps * summaries.length).fill(Number.NaN);
    this.sums = new Float64Array(summaries.length);
    this.weights = new Float64Array(summaries.length);
  }

  get byteLength(): number {
    return this.values.byteLength + this.sums.byteLength + this.weights.byteLength;
  }

  get spanMs(): number {
    return this.stepMs * this.steps;
  }

  /** One value for each field, NaN where it is not known. The sample stands for the `weight` milliseconds before it. */
  add(atMs: number, sample: Float64Array, weight: number): void {
    const before = this.newest;
    this.moveTo(Math.floor(atMs / this.stepMs));
    this.fillSkipped(before, atMs - weight, sample);
    const at = (this.newest % this.steps) * this.summaries.length;
    for (let field = 0; field < this.summaries.length; field++) {
      const value = sample[field];
      if (Number.isNaN(value)) continue;
      const before = this.values[at + field];
      if (this.summaries[field] === 'highest') {
        this.values[at + field] = Number.isNaN(before) ? value : Math.max(before, value);
        continue;
      }
      this.sums[field] += value * weight;
      this.weights[field] += weight;
      this.values[at + field] = this.sums[field] / this.weights[field];
    }
  }

  /** A timer that is late by a moment leaves a step without a sample of its own: the next one stands for it. */
  private fillSkipped(before: number, fromMs: number, sample: Float64Array): void {
    if (before === -1 || before >= this.newest) return;
    const first = Math.max(before + 1, Math.ceil(fromMs / this.stepMs), this.newest - this.steps + 1);
    for (let step = first; step < this.newest; step++)
      this.values.set(sample, (step % this.steps) * this.summaries.length);
  }

  /** The values of a field from the oldest step of the last `rangeMs` to the newest; none before the first sample. */
  read(field: number, rangeMs: number): number[] {
    const found: number[] = [];
    for (let step = this.newest - this.length(rangeMs) + 1; step <= this.newest; step++)
      found.push(this.values[(step % this.steps) * this.summaries.length + field]);
    return found;
  }

  /** When the first of the values that `read` gives began. */
  startMs(rangeMs: number): number {
    return (this.newest - this.length(rangeMs) + 1) * this.stepMs;
  }

  private length(rangeMs: number): number {
    return Math.min(this.filled, Math.ceil(rangeMs / this.stepMs));
  }

  private moveTo(step: number): void {
    // A clock that was set back a little stays in its step; one that was set back far begins a new past.
    if (this.newest !== -1 && (step === this.newest || step === this.newest - 1)) return;
    if (this.newest === -1 || step < this.newest) this.filled = 0;
    const skipped = this.filled === 0 ? 1 : Math.min(step - this.newest, this.steps);
    for (let back = 0; back < skipped; back++) this.clear((step - back) % this.steps);
    this.filled = Math.min(this.steps, this.filled + skipped);
    this.newest = step;
    this.sums.fill(0);
    this.weights.fill(0);
  }

  private clear(slot: number): void {
    this.values.fill(Number.NaN, slot * this.summaries.length, (slot + 1) * this.summaries.length);
  }
}
