import type { LimitFigures } from '@quotadb/dashboard';
import type { Catalogue } from '@quotadb/limits';
import { type DecisionsByLimit, type HotIdentifier, scopeOfLimit } from '@quotadb/resp';

const LIMITS = 200;
const HOT_SUBJECTS = 10;
const NO_DECISIONS = { allowed: 0, denied: 0, shadowDenied: 0 };

/** The limits of the catalogue, and others that were decided on, with the subjects that each denies most. */
export function limitFigures(
  { limits }: Catalogue,
  decisions: DecisionsByLimit,
  denied: readonly HotIdentifier[],
): LimitFigures[] {
  const entries = new Map(limits.map((entry) => [entry.name, entry]));
  return [...new Set([...entries.keys(), ...decisions.keys()])].slice(0, LIMITS).map((name) => {
    const { allowed, denied: refused, shadowDenied } = decisions.get(name) ?? NO_DECISIONS;
    const scope = scopeOfLimit(name);
    return {
      name,
      kind: entries.get(name)?.kind ?? null,
      isShadow: entries.get(name)?.shadow ?? false,
      allowedTotal: allowed,
      deniedTotal: refused,
      shadowDeniedTotal: shadowDenied,
      subjects: denied
        .filter((hot) => Math.abs(hot.scope) === scope)
        .slice(0, HOT_SUBJECTS)
        .map((hot) => ({
          subject: Buffer.from(hot.identifier, 'latin1').toString('utf8'),
          deniedPerSecond: hot.deniedPerSecond,
          isShadow: hot.scope < 0,
        })),
    };
  });
}
