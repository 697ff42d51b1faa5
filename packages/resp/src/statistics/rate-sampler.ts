/** The recent rate per second of a growing total: the mean of the last samples, as in Redis. */
export class RateSampler {
  static readonly SAMPLES = 16;

  private readonly perSecond = new Float64Array(RateSampler.SAMPLES);
  private next = 0;
  private lastTotal = 0;
  private lastMs = 0;

  sample(total: number, nowMs: number): void {
    const elapsedMs = nowMs - this.lastMs;
    if (this.lastMs > 0 && elapsedMs > 0) {
      this.perSecond[this.next] = (Math.max(total - this.lastTotal, 0) * 1000) / elapsedMs;
      this.next = (this.next + 1) % RateSampler.SAMPLES;
    }
    this.lastTotal = total;
    this.lastMs = nowMs;
  }

  rate(): number {
    return this.perSecond.reduce((sum, rate) => sum + rate, 0) / RateSampler.SAMPLES;
  }

  reset(): void {
    this.perSecond.fill(0);
    this.lastTotal = 0;
    this.lastMs = 0;
  }
}
