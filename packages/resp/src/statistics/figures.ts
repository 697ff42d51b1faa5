import type { CommandStatistics } from './command-statistics.js';
import { addTakes, type TakesByQuota } from './take-statistics.js';

type CommandFigures = Pick<
  CommandStatistics,
  'calls' | 'microseconds' | 'durations' | 'timedMicroseconds' | 'rejected' | 'failed'
>;

/** The figures of one lane, or of all lanes together: plain data, sent between threads. */
export interface Figures extends CommandFigures {
  readonly sums: { [name in SumName]: number };
  readonly longestTurnMicroseconds: number;
  readonly longestTurnProcessorMicroseconds: number;
  readonly peakUsedBytes: number;
  readonly largestInputBytes: number;
  readonly largestOutputBytes: number;
  readonly errors: ReadonlyMap<string, number>;
  readonly takes: TakesByQuota;
  readonly lanes: readonly LaneFigures[];
}

/** Figures by lane, which show whether the work is spread evenly. */
export interface LaneFigures {
  readonly lane: number;
  readonly connections: number;
  readonly commandsProcessed: number;
  readonly busyMicroseconds: number;
  readonly recentLongestTurnMicroseconds: number;
}

type SumName =
  | 'connections'
  | 'blocked'
  | 'clientBytes'
  | 'connectionsReceived'
  | 'connectionsRejected'
  | 'commandsProcessed'
  | 'inputBytes'
  | 'outputBytes'
  | 'readsProcessed'
  | 'writesProcessed'
  | 'keyspaceHits'
  | 'keyspaceMisses'
  | 'outputLimitDisconnections'
  | 'queryLimitDisconnections'
  | 'expiryMicroseconds'
  | 'errorReplies'
  | 'slowCommands'
  | 'slowlogLength'
  | 'ratesAllowed'
  | 'ratesDenied'
  | 'operationsPerSecond'
  | 'inputBytesPerSecond'
  | 'outputBytesPerSecond';

export function addFigures(all: readonly Figures[]): Figures {
  return all.reduce((total, figures) => {
    const sums = { ...total.sums };
    for (const name of Object.keys(sums) as SumName[]) sums[name] += figures.sums[name];
    const errors = new Map(total.errors);
    for (const [code, count] of figures.errors) errors.set(code, (errors.get(code) ?? 0) + count);
    return {
      sums,
      longestTurnMicroseconds: Math.max(total.longestTurnMicroseconds, figures.longestTurnMicroseconds),
      longestTurnProcessorMicroseconds: Math.max(
        total.longestTurnProcessorMicroseconds,
        figures.longestTurnProcessorMicroseconds,
      ),
      peakUsedBytes: Math.max(total.peakUsedBytes, figures.peakUsedBytes),
      largestInputBytes: Math.max(total.largestInputBytes, figures.largestInputBytes),
      largestOutputBytes: Math.max(total.largestOutputBytes, figures.largestOutputBytes),
      calls: added(total.calls, figures.calls),
      microseconds: added(total.microseconds, figures.microseconds),
      durations: added(total.durations, figures.durations),
      timedMicroseconds: added(total.timedMicroseconds, figures.timedMicroseconds),
      rejected: added(total.rejected, figures.rejected),
      failed: added(total.failed, figures.failed),
      errors,
      takes: addTakes([total.takes, figures.takes]),
      lanes: [...total.lanes, ...figures.lanes],
    };
  });
}

function added(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, index) => value + b[index]);
}
