import type { ServerState } from '../session/server-state.js';
import type { Figures } from '../statistics/figures.js';
import { COUNTERS, type CounterName } from '../statistics/statistics.js';

export function collectFigures({ statistics, clients, lanes, slowlog }: ServerState): Figures {
  let blocked = 0;
  let clientBytes = 0;
  let largestInputBytes = 0;
  let largestOutputBytes = 0;
  for (const client of clients) {
    const { pendingBytes } = client.connection;
    if (client.blocked) blocked++;
    clientBytes += client.bufferedInputBytes + pendingBytes;
    largestInputBytes = Math.max(largestInputBytes, client.bufferedInputBytes);
    largestOutputBytes = Math.max(largestOutputBytes, pendingBytes);
  }
  const counters = Object.fromEntries(COUNTERS.map((name) => [name, statistics[name]])) as Record<CounterName, number>;
  return {
    sums: {
      ...counters,
      connections: clients.count,
      blocked,
      clientBytes,
      errorReplies: statistics.errors.total,
      slowCommands: slowlog.total,
      slowlogLength: slowlog.length,
      ratesAllowed: statistics.rates.allowed,
      ratesDenied: statistics.rates.denied,
      operationsPerSecond: statistics.operationRate.rate(),
      inputBytesPerSecond: statistics.inputRate.rate(),
      outputBytesPerSecond: statistics.outputRate.rate(),
    },
    longestTurnMicroseconds: statistics.longestTurnMicroseconds,
    longestTurnProcessorMicroseconds: statistics.longestTurnProcessorMicroseconds,
    peakUsedBytes: statistics.peakUsedBytes,
    largestInputBytes,
    largestOutputBytes,
    calls: statistics.commands.calls.slice(),
    microseconds: statistics.commands.microseconds.slice(),
    durations: statistics.commands.durations.slice(),
    timedMicroseconds: statistics.commands.timedMicroseconds.slice(),
    rejected: statistics.commands.rejected.slice(),
    failed: statistics.commands.failed.slice(),
    errors: new Map(statistics.errors.counts),
    takes: new Map(statistics.takes.byQuota),
    limits: new Map(statistics.limits.byLimit),
    lanes: [
      {
        lane: lanes.index,
        connections: clients.count,
        commandsProcessed: statistics.commandsProcessed,
        busyMicroseconds: statistics.busyMicroseconds,
        recentLongestTurnMicroseconds: statistics.recentLongestTurnMicroseconds,
      },
    ],
  };
}
