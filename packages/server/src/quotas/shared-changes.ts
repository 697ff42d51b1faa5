import {
  checkShared,
  FIRST_STAMP,
  findFixedDifference,
  newerOf,
  nextStamp,
  type PartialDefinition,
  type PolicyBook,
  PolicyError,
  type SharedPolicy,
  type SharedSet,
  type Stamp,
} from '@quotadb/quota';
import type { QuotaRequest } from '@quotadb/resp';

/** A change that clients make in one group for all groups of the cluster. */
export type SharedRequest = Extract<QuotaRequest, { readonly kind: 'define' | 'drop' | 'catalogue' }>;

/** What of the policies of other groups cannot hold in this one, and why. */
export interface Merged {
  readonly refused: readonly string[];
}

export interface SharedChangesOptions {
  readonly book: PolicyBook;
  readonly nowMs: () => number;
  readonly define: (definition: PartialDefinition) => void;
  /** Null takes the catalogue away. */
  readonly replaceCatalogue: (change: unknown) => void;
}

/** At the home of a group: what its policies have to do with those of other groups. See shared-policies.ts in quota. */
export class SharedChanges {
  private readonly options: SharedChangesOptions;

  constructor(options: SharedChangesOptions) {
    this.options = options;
  }

  /** A change was made for a client: it is newer than all. Returns it as other groups need it. */
  note(request: SharedRequest): SharedSet {
    const { book } = this.options;
    const nowMs = this.options.nowMs();
    const stamp = nextStamp(book.set, nowMs);
    if (request.kind === 'catalogue') {
      book.stamp([], stamp, nowMs);
      const { catalogue } = book.shared;
      return { policies: [], catalogue };
    }
    const name = request.kind === 'define' ? request.definition.name : request.name;
    const kind = request.kind === 'define' ? stampOf(request.definition) : { isDropped: true as const };
    book.stamp([{ name, stamp, ...kind }], undefined, nowMs);
    return { policies: book.shared.policies.filter((policy) => policy.name === name) };
  }

  /** Quotas of the settings or of Envoy's files were defined, or dropped; `before` is from before that. */
  noteConfigured(definitions: readonly PartialDefinition[], dropped: readonly string[], before: SharedSet): void {
    const { book } = this.options;
    const nowMs = this.options.nowMs();
    const known = new Map(before.policies.map((policy) => [policy.name, policy]));
    const now = new Map(book.shared.policies.map((policy) => [policy.name, policy]));
    const next = nextStamp(book.set, nowMs);
    const gone = dropped.map((name): Stamp => ({ name, stamp: next, isDropped: true }));
    const changed = definitions.flatMap((definition): Stamp[] => {
      const { name } = definition;
      const policy = book.named(name);
      if (policy === undefined || policy.isCatalogued || isSame(known.get(name), now.get(name))) return [];
      return [{ name, stamp: known.has(name) ? next : FIRST_STAMP, ...stampOf(definition) }];
    });
    if (gone.length + changed.length > 0) book.stamp([...gone, ...changed], undefined, nowMs);
  }

  /** A catalogue was read from a file at a start. */
  noteCatalogueAtStart(before: SharedSet): void {
    const { book } = this.options;
    const nowMs = this.options.nowMs();
    const { catalogue } = book.shared;
    if (before.catalogue === undefined) book.stamp([], FIRST_STAMP, nowMs);
    else if (textOf(before.catalogue.document) !== textOf(catalogue?.document))
      book.stamp([], nextStamp(book.set, nowMs), nowMs);
  }

  /** Takes over newer policies of another group. A policy that is refused stays as it is here, and is tried again. */
  merge(given: unknown): Merged {
    const { book, nowMs, replaceCatalogue } = this.options;
    const { policies, catalogue } = newerOf(checkShared(given, nowMs()), book.shared);
    const refused: string[] = [];
    const isDone = (what: string, work: () => void): boolean => {
      try {
        work();
        return true;
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        refused.push(`${what}: ${error.message}`);
        return false;
      }
    };
    const dropped = policies.filter(({ name, definition }) => {
      return definition === null && isDone(name, () => book.drop(name, nowMs()));
    });
    const hasCatalogue =
      catalogue !== undefined &&
      isDone('the catalogue of limits', () => {
        if (textOf(catalogue.document) === textOf(book.shared.catalogue?.document)) return;
        replaceCatalogue(catalogue.document === null ? null : { replace: catalogue.document });
      });
    const defined = policies.filter(({ name, definition }) => {
      return definition !== null && isDone(name, () => this.defineAnyhow(definition));
    });
    const stamps = [...dropped, ...defined].map(({ name, stamp, definition }): Stamp => {
      return { name, stamp, ...(definition === null ? { isDropped: true } : stampOf(definition)) };
    });
    if (stamps.length > 0 || hasCatalogue) book.stamp(stamps, hasCatalogue ? catalogue?.stamp : undefined, nowMs());
    return { refused };
  }

  /** Where the one before has another window or other shares it was dropped in between, which this group has missed. */
  private defineAnyhow(definition: PartialDefinition): void {
    const { book, define, nowMs } = this.options;
    const before = book.named(definition.name);
    const allocator = definition.allocator ?? book.homeRegion;
    const isOther = before !== undefined && findFixedDifference(before, { ...definition, allocator }) !== undefined;
    if (!isOther) {
      define(definition);
      return;
    }
    book.drop(definition.name, nowMs());
    try {
      define(definition);
    } catch (error) {
      // It goes on where it was.
      define(before);
      throw error;
    }
  }
}

function stampOf({ allocator }: PartialDefinition): Pick<Stamp, 'namesAllocator'> {
  return allocator === undefined ? {} : { namesAllocator: true };
}

function isSame(one: SharedPolicy | undefined, other: SharedPolicy | undefined): boolean {
  return one !== undefined && textOf(one.definition) === textOf(other?.definition);
}

function textOf(value: unknown): string {
  return JSON.stringify(value ?? null);
}
