import type { ServerState } from '../session/server-state.js';
import type { Figures } from '../statistics/figures.js';

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
  return {
    sums: {
      connections: clients.count,
      blocked,
      clientBytes,
      connectionsReceived: statistics.connectionsReceived,
      connectionsRejected: statistics.connectionsRejected,
      commandsProcessed: statistics.commandsProcessed,
      inputBytes: statistics.inputBytes,
      outputBytes: statistics.outputBytes,
      readsProcessed: statistics.readsProcessed,
      writesProcessed: statistics.writesProcessed,
      keyspaceHits: statistics.keyspaceHits,
      keyspaceMisses: statistics.keyspaceMisses,
      outputLimitDisconnections: statistics.outputLimitDisconnections,
      queryLimitDisconnections: statistics.queryLimitDisconnections,
      expiryMicroseconds: statistics.expiryMicroseconds,
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
