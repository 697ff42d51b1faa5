import { type MeasureName, measureNames, measureOf } from './measures.js';

export interface Summary {
  readonly median: number;
  readonly minimum: number;
  readonly maximum: number;
  readonly rounds: readonly number[];
}

export type Summaries = Partial<Record<MeasureName, Summary>>;

/** Summarizes rounds measure by measure; a measure that no round has is left out. */
export function summarize<Round extends object>(rounds: readonly Round[]): { [Name in keyof Round]: Summary } {
  const names = new Set(rounds.flatMap((round) => Object.keys(round))) as Set<keyof Round>;
  const summaries = [...names].map((name) => {
    const values = rounds.map((round) => round[name] as number | undefined);
    return [name, summaryOf(values.filter((value) => value !== undefined))];
  });
  return Object.fromEntries(summaries) as { [Name in keyof Round]: Summary };
}

export function summaryOf(values: readonly number[]): Summary {
  return { median: median(values), minimum: Math.min(...values), maximum: Math.max(...values), rounds: values };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** How far the rounds lie apart, as a share of the median. */
export function spread(summary: Summary): number {
  return summary.median === 0 ? 0 : (summary.maximum - summary.minimum) / summary.median;
}

/** Ours over theirs, measure by measure; left out where theirs is zero or missing. */
export function ratios(ours: Summaries, theirs: Summaries): Partial<Record<MeasureName, number>> {
  const result: Partial<Record<MeasureName, number>> = {};
  for (const name of measureNames) {
    const our = ours[name];
    const their = theirs[name];
    if (our && their && their.median !== 0 && measureOf(name).better) result[name] = our.median / their.median;
  }
  return result;
}

export interface Lead {
  /** 0.25: a quarter more than ours, or ours needs a quarter more than theirs. */
  readonly by: number;
  /** Why another run might say otherwise; empty where even their worst round beat our best. */
  readonly doubt: '' | 'from one round only' | 'but the rounds overlap';
}

/** How far they are ahead of us in a measure; undefined where they are not. */
export function leadOf(theirs: Summary, ours: Summary, better: 'higher' | 'lower'): Lead | undefined {
  const [more, less] = better === 'higher' ? [theirs, ours] : [ours, theirs];
  if (more.median <= less.median) return undefined;
  return { by: more.median / less.median - 1, doubt: doubtOf(more, less) };
}

function doubtOf(more: Summary, less: Summary): Lead['doubt'] {
  if (more.rounds.length === 1 || less.rounds.length === 1) return 'from one round only';
  return more.minimum > less.maximum ? '' : 'but the rounds overlap';
}
