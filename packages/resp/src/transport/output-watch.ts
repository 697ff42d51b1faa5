import type { Configuration } from '@quotadb/config';

/**
 * client-output-buffer-limit for one connection. Unsent bytes must not pass the hard limit, nor stay above the soft
 * limit for longer than the soft seconds; a connection above the soft limit is not read from.
 */
export class OutputWatch {
  /** Reading stops here where there is no soft limit. */
  static readonly FULL_BYTES = 1024 * 1024;
  /** Reading never stops below this: the socket reports a drain only after more than 16 KiB were waiting. */
  static readonly LEAST_FULL_BYTES = 64 * 1024;

  private readonly config: Configuration;
  private fullSinceMs: number | undefined = undefined;

  constructor(config: Configuration) {
    this.config = config;
  }

  isFull(pendingBytes: number): boolean {
    const { softBytes } = this.config.outputLimit;
    const fullBytes = softBytes > 0 ? Math.max(softBytes, OutputWatch.LEAST_FULL_BYTES) : OutputWatch.FULL_BYTES;
    return pendingBytes >= fullBytes;
  }

  isPastHardLimit(pendingBytes: number): boolean {
    const { hardBytes } = this.config.outputLimit;
    return hardBytes > 0 && pendingBytes > hardBytes;
  }

  /** Called once a second; true when the connection has to be closed. */
  exceeded(pendingBytes: number, nowMs: number): boolean {
    const { softBytes, softSeconds } = this.config.outputLimit;
    if (this.isPastHardLimit(pendingBytes)) return true;
    if (softBytes === 0 || softSeconds === 0 || pendingBytes < softBytes) {
      this.fullSinceMs = undefined;
      return false;
    }
    this.fullSinceMs ??= nowMs;
    return nowMs - this.fullSinceMs >= softSeconds * 1000;
  }
}
