import type { Engine } from '@quotadb/engine';
import {
  type Catalogue,
  Counters,
  EMPTY_CATALOGUE,
  type Standing as ItemStanding,
  type LimitEntry,
  Resolution,
  subjectOfCounter,
} from '@quotadb/limits';
import { MAXIMUM_SUBJECT_BYTES, type PolicyBook, type Refunded, type Standing, SUBJECT_TOO_LONG } from '@quotadb/quota';
import { listSubjects, type PageRequest, type SubjectPage } from './subject-list.js';

/**
 * Subjects of limits of the catalogue that count and have no tokens: of the kinds fixed, sliding and bucket. What a
 * region has counted, it can uncount; so a refund is of this region's own counts, and a reset asks every region.
 */
export class CountedSubjects {
  private readonly engine: Engine;
  private readonly book: PolicyBook;
  private readonly counters: Counters;
  private compiled = new Resolution(EMPTY_CATALOGUE);

  constructor(engine: Engine, book: PolicyBook, publishPercent: () => number) {
    this.engine = engine;
    this.book = book;
    this.counters = new Counters(engine, publishPercent);
  }

  /** Undefined where the name is of no such limit. */
  find(name: string): LimitEntry | undefined {
    const entry = this.resolution.catalogue.limits.find((limit) => limit.name === name);
    return entry?.kind === 'exact' || entry?.kind === 'concurrency' ? undefined : entry;
  }

  /** Of a limit that was found. */
  refund({ name }: LimitEntry, subject: Uint8Array, atMost: number): Refunded {
    if (subject.length > MAXIMUM_SUBJECT_BYTES) return { error: SUBJECT_TOO_LONG };
    const { refunded, standing } = this.counters.refund(this.itemOf(name, subject), atMost);
    return { refunded, standing: describe(standing) };
  }

  standing({ name }: LimitEntry, subject: Uint8Array): Standing {
    return describe(this.counters.standing(this.itemOf(name, subject)));
  }

  list(entry: LimitEntry, page: PageRequest): SubjectPage | { readonly error: string } {
    const { engine } = this;
    return listSubjects(page, {
      scan: (cursor, count, visit) => engine.scan(cursor, count, visit),
      subjectOf: (key) => subjectOfCounter(key, entry.name, entry.kind),
      standingOf: (subject) => this.standing(entry, subject),
    });
  }

  private itemOf(name: string, subject: Uint8Array) {
    const item = this.resolution.itemOfName(name, subject, this.engine.nowMs);
    if (item === undefined) throw new Error(`the limit ${name} is gone`);
    return item;
  }

  private get resolution(): Resolution {
    const catalogue = (this.book.catalogue as Catalogue | undefined) ?? EMPTY_CATALOGUE;
    if (this.compiled.catalogue !== catalogue) this.compiled = new Resolution(catalogue);
    return this.compiled;
  }
}

/** -1: unlimited. */
function describe({ limit, remaining, resetMs, retryAfterMs }: ItemStanding): Standing {
  const left = Number.isFinite(limit) ? remaining : -1;
  const most = Number.isFinite(limit) ? limit : -1;
  return { limit: most, remainingHere: left, remainingEverywhere: left, resetMs, retryAfterMs };
}
