import type { ReplyWriter } from '@quotadb/wire';

const SPACE = 0x20;

/** Error replies by code (ERR, WRONGTYPE, OOM …), for INFO errorstats. */
export class ErrorStatistics {
  /** Most codes come from errors.ts, but a script may choose its own. */
  static readonly MAXIMUM_CODES = 128;
  static readonly MAXIMUM_CODE_BYTES = 64;

  total = 0;
  /** The next error reply repeats one that was counted where it arose. */
  nextIsCounted = false;
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

  /** Counts the error reply that begins here, by its code. */
  countReply({ bytes, length }: ReplyWriter, start: number): void {
    if (this.nextIsCounted) {
      this.nextIsCounted = false;
      return;
    }
    const bound = Math.min(length, start + 1 + ErrorStatistics.MAXIMUM_CODE_BYTES);
    let end = start + 1;
    while (end < bound && bytes[end] > SPACE) end++;
    this.count(Buffer.from(bytes.subarray(start + 1, end)).toString('latin1'));
  }
}
