import type { Round } from '../results/measures.js';
import type { ResultRow } from '../results/row.js';
import { ratios, summarize } from '../results/summary.js';

/** A row as a run would write it, with these rounds for each side. */
export function rowOf(sides: Record<string, Round[]>, changes: Partial<ResultRow> = {}): ResultRow {
  const baseline = summarize(sides.redis ?? []);
  return {
    format: 1,
    date: '2026-01-02T03:04:05.678Z',
    commit: '0123456789abcdef',
    uncommittedChanges: false,
    machine: { cpuModel: 'test', cpuCount: 2, memoryBytes: 1024, system: 'linux 6', node: '20.19.0' },
    smoke: false,
    workload: 'incr-uniform',
    description: 'INCR',
    pipeline: 16,
    connections: 50,
    keys: 1_000_000,
    keyBytes: 42,
    client: 'quotadb-bench',
    rounds: 3,
    warmupSeconds: 0.5,
    secondsPerRound: 3,
    operationsPerRound: 0,
    sides: Object.fromEntries(
      Object.entries(sides).map(([name, rounds]) => [
        name,
        {
          kind: name.split(' ')[0]!,
          version: '1.0.0',
          serveArguments: [],
          limits: '2 CPUs, 2 GiB',
          commands: 'INCR {key}',
          measures: summarize(rounds),
        },
      ]),
    ),
    ratiosToRedis: Object.fromEntries(
      Object.entries(sides)
        .filter(([name]) => name !== 'redis')
        .map(([name, rounds]) => [name, ratios(summarize(rounds), baseline)]),
    ),
    ...changes,
  };
}
