import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { type Link, nameOfOrigin, type Replica } from '@quotadb/replication';
import { startSpan } from './tracing.js';

/** A span from the moment that a region connects until this node holds all that the region held then. */
export class ResyncTraces {
  private readonly open = new Map<Link, Span>();

  established(link: Link): void {
    this.open.set(link, startSpan('replication resync', { attributes: { 'quotadb.peer': link.region } }));
  }

  closed(link: Link): void {
    const span = this.open.get(link);
    // Two regions that dial each other at once keep one link: closing the other is no failure.
    const isDouble = [...this.open.keys()].some((other) => other !== link && other.region === link.region);
    if (isDouble) {
      this.open.delete(link);
      return;
    }
    span?.setStatus({ code: SpanStatusCode.ERROR, message: 'the link closed before the resync was complete' });
    this.end(link);
  }

  /** Called at an interval: ends the spans of regions that have caught up. */
  check(replica: Replica, nowMs: number): void {
    for (const link of this.open.keys()) {
      const ageMs = replica.freshness.ageMs(nameOfOrigin(link.origin), nowMs);
      if (ageMs >= 0 && ageMs < nowMs - link.establishedAtMs) this.end(link);
    }
  }

  private end(link: Link): void {
    const { bytesIn, componentsIn } = link.figures;
    this.open.get(link)?.setAttributes({ 'quotadb.bytes': bytesIn, 'quotadb.components': componentsIn }).end();
    this.open.delete(link);
  }
}
