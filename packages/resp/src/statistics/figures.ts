import type { CommandStatistics } from './command-statistics.js';
import { addLimits, type DecisionsByLimit } from './limit-statistics.js';
import type { CounterName } from './statistics.js';
import { addTakes, type TakesByQuota } from './take-statistics.js';

type Maxima = Readonly<Record<(typeof MAXIMA)[number], number>>;
type CommandFigures = Pick<CommandStatistics, (typeof BY_COMMAND)[number]>;

/** The figures of one lane, or of all lanes together: plain data, sent between threads. */
export interface Figures extends CommandFigures, Maxima {
  readonly sums: { [name in SumName]: number };
  readonly errors: ReadonlyMap<string, number>;
  readonly takes: TakesByQuota;
  readonly limits: DecisionsByLimit;
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
  | CounterName
  | 'connections'
  | 'blocked'
  | 'clientBytes'
  | 'errorReplies'
  | 'slowCommands'
  | 'slowlogLength'
  | 'ratesAllowed'
  | 'ratesDenied'
  | 'operationsPerSecond'
  | 'inputBytesPerSecond'
  | 'outputBytesPerSecond';

/** The figures of commands, by the id of the command; added up over lanes. */
const BY_COMMAND = ['calls', 'microseconds', 'durations', 'timedMicroseconds', 'rejected', 'failed'] as const;
/** The highest of all lanes counts. */
const MAXIMA = [
  'longestTurnMicroseconds',
  'longestTurnProcessorMicroseconds',
  'peakUsedBytes',
  'largestInputBytes',
  'largestOutputBytes',
] as const;

export function addFigures(all: readonly Figures[]): Figures {
  return all.reduce((total, figures) => {
    const sums = { ...total.sums };
    for (const name of Object.keys(sums) as SumName[]) sums[name] += figures.sums[name];
    const errors = new Map(total.errors);
    for (const [code, count] of figures.errors) errors.set(code, (errors.get(code) ?? 0) + count);
    const maxima = Object.fromEntries(MAXIMA.map((name) => [name, Math.max(total[name], figures[name])]));
    const byCommand = Object.fromEntries(BY_COMMAND.map((name) => [name, added(total[name], figures[name])]));
    return {
      ...(maxima as Maxima),
      ...(byCommand as CommandFigures),
      sums,
      errors,
      takes: addTakes([total.takes, figures.takes]),
      limits: addLimits([total.limits, figures.limits]),
      lanes: [...total.lanes, ...figures.lanes],
    };
  });
}

function added(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, index) => value + b[index]);
}
