/** When a policy was last changed by a client of any group of a cluster; shared-policies.ts says what for. */
export interface Stamp {
  readonly name: string;
  readonly stamp: number;
  readonly isDropped?: true | undefined;
  /** The definition named its allocator. */
  readonly namesAllocator?: true | undefined;
}

/** Of a policy or catalogue that comes from a file or setting at a start: any change by a client is newer. */
export const FIRST_STAMP = 1;
/** Twice as many as there can be policies: those of dropped ones are forgotten first, the oldest of them. */
export const MAXIMUM_STAMPS = 2000;

/** The stamps with those of some names in place of the ones before, bounded. */
export function withStamps(before: readonly Stamp[] | undefined, changed: readonly Stamp[]): readonly Stamp[] {
  const names = new Set(changed.map(({ name }) => name));
  const all = [...(before ?? []).filter(({ name }) => !names.has(name)), ...changed];
  if (all.length <= MAXIMUM_STAMPS) return all;
  const oldest = all.filter(({ isDropped }) => isDropped).sort((one, other) => one.stamp - other.stamp);
  const forgotten = new Set(oldest.slice(0, all.length - MAXIMUM_STAMPS));
  return all.filter((stamp) => !forgotten.has(stamp));
}

/** Whether a set of policies from a peer or a file has stamps of the right form. */
export function areStamps(stamps: unknown, catalogueStamp: unknown): boolean {
  const isStamp = (stamp: unknown) => Number.isSafeInteger(stamp) && (stamp as number) >= FIRST_STAMP;
  if (catalogueStamp !== undefined && !isStamp(catalogueStamp)) return false;
  if (stamps === undefined) return true;
  if (!Array.isArray(stamps) || stamps.length > MAXIMUM_STAMPS) return false;
  return stamps.every((each: Stamp) => typeof each?.name === 'string' && isStamp(each.stamp));
}
