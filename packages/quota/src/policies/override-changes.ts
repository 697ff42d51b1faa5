import type { Override } from './policy.js';

/**
 * The overrides of a policy after a change. An override that begins later takes the place of the one before only then:
 * that one stays as long as a window before it may be open. One that is repeated unchanged is not put off by that.
 */
export function settleOverrides(
  before: readonly Override[] | undefined,
  given: readonly Override[] | undefined,
  windowMs: number,
  nowMs: number,
): readonly Override[] {
  if (given === undefined || given.length === 0) return [];
  const known = bySubject(before ?? []);
  const settled = [...new Set(given.map((override) => keepBegin(override, known.get(override.subject) ?? [])))];
  const kept: Override[] = [];
  for (const [subject, overrides] of bySubject(settled)) {
    const beginsMs = Math.min(...overrides.map(beginOf));
    // Twice, because a window of the calendar may be longer than usual.
    if (beginsMs + 2 * windowMs <= nowMs) continue;
    kept.push(...(known.get(subject) ?? []).filter((former) => beginOf(former) < beginsMs));
  }
  return [...settled, ...kept];
}

/** The last override of the subject, where it has the same limit and begins before. */
function keepBegin(override: Override, known: readonly Override[]): Override {
  const [last] = known.toSorted((one, other) => beginOf(other) - beginOf(one));
  return last?.limit === override.limit && beginOf(last) < beginOf(override) ? last : override;
}

function beginOf({ fromMs }: Override): number {
  return fromMs ?? Number.NEGATIVE_INFINITY;
}

function bySubject(overrides: readonly Override[]): Map<string, Override[]> {
  const grouped = new Map<string, Override[]>();
  for (const override of overrides) {
    const others = grouped.get(override.subject);
    if (others === undefined) grouped.set(override.subject, [override]);
    else others.push(override);
  }
  return grouped;
}
