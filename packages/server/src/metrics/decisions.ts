import type { DecisionsByLimit, Figures, Hottest, LimitStatistics, RateStatistics } from '@quotadb/resp';
import { addLimits, addTakes, mergeHottest, type TakeStatistics, type TakesByQuota } from '@quotadb/resp';

interface DecisionSources {
  readonly hottest: () => Promise<readonly Hottest[]>;
  /** Decisions of the main thread: requests over HTTP, and takes that no lane could answer alone. */
  readonly mainRates: RateStatistics;
  readonly mainTakes: TakeStatistics;
  readonly mainLimits: LimitStatistics;
}

export interface DecisionCounts {
  readonly ratesAllowed: number;
  readonly ratesDenied: number;
  readonly takes: TakesByQuota;
  readonly limits: DecisionsByLimit;
}

/** Rate decisions and takes, of the lanes and the main thread together. */
export class Decisions {
  private readonly sources: DecisionSources;

  constructor(sources: DecisionSources) {
    this.sources = sources;
  }

  counts(lanes: readonly Figures[]): DecisionCounts {
    const { mainRates, mainTakes, mainLimits } = this.sources;
    return {
      ratesAllowed: lanes.reduce((total, { sums }) => total + sums.ratesAllowed, mainRates.allowed),
      ratesDenied: lanes.reduce((total, { sums }) => total + sums.ratesDenied, mainRates.denied),
      takes: addTakes([mainTakes.byQuota, ...lanes.map(({ takes }) => takes)]),
      limits: addLimits([mainLimits.byLimit, ...lanes.map(({ limits }) => limits)]),
    };
  }

  /** The identifiers with the most decisions, at most `most` of each kind. */
  async hottest(most: number): Promise<Hottest> {
    const { mainRates, mainTakes, mainLimits } = this.sources;
    const lanes = await this.sources.hottest();
    return {
      rates: mergeHottest([mainRates.hottest.list(), ...lanes.map(({ rates }) => rates)], most),
      takes: mergeHottest([mainTakes.hottest.list(), ...lanes.map(({ takes }) => takes)], most),
      denied: mergeHottest([mainLimits.denied.list(), ...lanes.map(({ denied }) => denied)], most),
    };
  }
}
