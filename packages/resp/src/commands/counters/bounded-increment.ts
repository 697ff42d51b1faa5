import {
  addInt64,
  compareInt64,
  HIGHEST_HIGH,
  HIGHEST_LOW,
  LOWEST_HIGH,
  LOWEST_LOW,
  result,
  subtractInt64,
} from './int64.js';

export const Decision = {
  Apply: 0,
  /** Out of bounds: nothing is added. */
  Decline: 1,
  /** The distance to the bound does not fit into 64 bits, so the reply could not state it. */
  Overflow: 2,
} as const;
export type Decision = (typeof Decision)[keyof typeof Decision];

/** The increment of INCREX: its result has to lie between two bounds. */
export class BoundedIncrement {
  amountHigh = 0;
  amountLow = 1;
  lowerHigh = LOWEST_HIGH;
  lowerLow = LOWEST_LOW;
  upperHigh = HIGHEST_HIGH;
  upperLow = HIGHEST_LOW;
  /** Whether a result out of bounds becomes the bound; otherwise nothing is added. */
  saturates = false;

  /** Set by `decide`: the amount to add, and the value afterwards. */
  appliedHigh = 0;
  appliedLow = 0;
  valueHigh = 0;
  valueLow = 0;

  reset(): void {
    this.amountHigh = 0;
    this.amountLow = 1;
    this.lowerHigh = LOWEST_HIGH;
    this.lowerLow = LOWEST_LOW;
    this.upperHigh = HIGHEST_HIGH;
    this.upperLow = HIGHEST_LOW;
    this.saturates = false;
  }

  boundsAreCrossed(): boolean {
    return compareInt64(this.lowerHigh, this.lowerLow, this.upperHigh, this.upperLow) > 0;
  }

  /**
   * Decides the amount to add to this value. The bounds hold for the result only: a value above the upper bound may be
   * decremented, and with `saturates` even a positive increment lowers it to the bound.
   */
  decide(high: number, low: number): Decision {
    const fits = addInt64(high, low, this.amountHigh, this.amountLow);
    // A sum that does not fit into 64 bits lies out of bounds on the side of the amount's sign.
    const isAbove = fits
      ? compareInt64(result.high, result.low, this.upperHigh, this.upperLow) > 0
      : this.amountHigh >= 0;
    const isBelow = fits
      ? compareInt64(result.high, result.low, this.lowerHigh, this.lowerLow) < 0
      : this.amountHigh < 0;
    if (!isAbove && !isBelow) {
      this.moveTo(result.high, result.low, this.amountHigh, this.amountLow);
      return Decision.Apply;
    }
    if (!this.saturates) {
      this.moveTo(high, low, 0, 0);
      return Decision.Decline;
    }
    const boundHigh = isAbove ? this.upperHigh : this.lowerHigh;
    const boundLow = isAbove ? this.upperLow : this.lowerLow;
    if (!subtractInt64(boundHigh, boundLow, high, low)) return Decision.Overflow;
    this.moveTo(boundHigh, boundLow, result.high, result.low);
    return Decision.Apply;
  }

  private moveTo(valueHigh: number, valueLow: number, appliedHigh: number, appliedLow: number): void {
    this.valueHigh = valueHigh;
    this.valueLow = valueLow;
    this.appliedHigh = appliedHigh;
    this.appliedLow = appliedLow;
  }
}
