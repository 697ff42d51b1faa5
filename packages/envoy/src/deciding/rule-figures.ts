/** What the reference counts for each rule, in hits. */
export interface RuleFigures {
  total: number;
  withinLimit: number;
  nearLimit: number;
  overLimit: number;
  /** Over the limit, and not denied because the rule is in shadow or quota mode. */
  notEnforced: number;
}

/** A part of the limit from which a hit is near it. */
const NEAR_LIMIT_RATIO = 0.8;
/** Figures that are apart for values can be very many; past this, others are counted with their rule. */
export const MAXIMUM_FIGURES = 10_000;
/** Values are the callers'. One that makes a longer name is counted with its rule. */
export const MAXIMUM_FIGURE_LENGTH = 512;

/** Hits by rule. */
export class Figures {
  readonly rules = new Map<string, RuleFigures>();
  /** Requests of domains that no file has. */
  unknownDomains = 0;

  of(figure: string, rulePath: string): RuleFigures {
    const known = this.rules.get(figure);
    if (known !== undefined) return known;
    const isKept = this.rules.size < MAXIMUM_FIGURES && figure.length <= MAXIMUM_FIGURE_LENGTH;
    if (figure !== rulePath && !isKept) return this.of(rulePath, rulePath);
    const made = { total: 0, withinLimit: 0, nearLimit: 0, overLimit: 0, notEnforced: 0 };
    this.rules.set(figure, made);
    return made;
  }
}

/** Sorts the hits of one request as the reference does: a part of them can be near the limit, and a part over it. */
export function noteHits(figures: RuleFigures, limit: number, after: number, hits: number): void {
  const before = after - hits;
  const near = Math.floor(Math.fround(limit * NEAR_LIMIT_RATIO));
  figures.total += hits;
  if (after > limit) {
    if (before >= limit) figures.overLimit += hits;
    else {
      figures.overLimit += after - limit;
      figures.nearLimit += limit - Math.max(near, before);
    }
    return;
  }
  if (after > near) figures.nearLimit += before >= near ? hits : after - near;
  figures.withinLimit += hits;
}
