import type { PolicyBook } from '@quotadb/quota';
import type { Logger } from 'pino';

/**
 * Whether this server holds the name of its region. Where a region refuses it, because another server runs under the
 * same name, it gives out no tokens that belong to the name, until all that have refused it have let it in.
 */
export class RegionName {
  private readonly book: PolicyBook;
  private readonly logger: Logger;
  private readonly refusedBy = new Set<string>();

  constructor(book: PolicyBook, logger: Logger) {
    this.book = book;
    this.logger = logger;
  }

  refused(by: string): void {
    if (this.refusedBy.size === 0)
      this.logger.error(
        { peer: by },
        'another server runs as this region: quotas give out no tokens of this region until the other one is gone',
      );
    this.refusedBy.add(by);
    this.book.suspend();
  }

  granted(by: string, nowMs: number): void {
    if (!this.refusedBy.delete(by) || this.refusedBy.size > 0) return;
    this.logger.warn(
      'this server holds the name of its region: quotas give out tokens of windows that begin from now on',
    );
    this.book.resume(nowMs);
  }
}
