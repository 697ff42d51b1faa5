/** Error replies by code (ERR, WRONGTYPE, OOM …), for INFO errorstats. */
export class ErrorStatistics {
  /** Codes come from our own registry, so this is never reached unless a client could choose them; then it holds. */
  static readonly MAXIMUM_CODES = 128;

  total = 0;
  readonly counts = new Map<string, number>();

  count(code: string): void {
    this.total++;
    const before = this.counts.get(code);
    if (before === undefined && this.counts.size >= ErrorStatistics.MAXIMUM_CODES) return;
    this.counts.set(code, (before ?? 0) + 1);
  }

  reset(): void {
    this.total = 0;
    this.counts.clear();
  }
}
