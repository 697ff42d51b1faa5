/** Error replies by code (ERR, WRONGTYPE, OOM …), for INFO errorstats. */
export class ErrorStatistics {
  /** Never reached: codes come from errors.ts. It bounds the memory if a client could ever choose them. */
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
