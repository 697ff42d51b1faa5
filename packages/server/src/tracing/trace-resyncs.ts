import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { type Link, nameOfOrigin, type Replica } from '@quotadb/replication';
import { startSpan } from './tracing.js';

/** A span from the moment that a region is connected until everything that it had then is here. */
export class ResyncTraces {
  private readonly open = new Map<Link, Span>();

  established(link: Link): void {
    this.open.set(link, startSpan('replication resync', { attributes: { 'quotadb.peer': link.region } }));
  }

  closed(link: Link): void {
    const span = this.open.get(link);
    // Two regions that dial each other at once keep one link: nothing was lost with the other.
    const isDouble = [...this.open.keys()].some((other) => other !== link && other.region === link.region);
    if (isDouble) {
      this.open.delete(link);
      return;
    }
    span?.setStatus({ code: SpanStatusCode.ERROR, message: 'the link was lost before' });
    this.end(link);
  }

  /** Now and then: who has caught up? */
  look(replica: Replica, nowMs: number): void {
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
