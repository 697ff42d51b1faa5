import { expect } from 'vitest';
import { readHistory } from '../results/history.js';
import { ExitCode } from '../run-bench.js';
import { bench, testWithRedis } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

testWithRedis(
  'redis-benchmark as the client gives the same kind of row, and memory is measured on both sides',
  async () => {
    const results = temporaryDirectory();
    const { code, progress } = await bench(
      ...[
        '--smoke',
        '--workload',
        'get,mixed,memory-expiring',
        '--keys',
        '1000',
        '--pipeline',
        '16',
        '--client',
        'redis-benchmark',
      ],
      ...['--no-half-load', '--results', results],
    );
    expect(progress).not.toContain('quotadb bench:');
    expect(code).toBe(ExitCode.Ok);
    const [get, mixed, memory] = readHistory(results);
    expect(get!.client).toBe('redis-benchmark');
    expect(mixed!.client).toBe('quotadb-bench');
    for (const side of [get!.sides.redis!, get!.sides.quotadb!]) {
      expect(side.measures.throughputPerSecond!.median).toBeGreaterThan(0);
      expect(side.measures.p999Ms!.median).toBeGreaterThan(0);
      expect(side.measures.halfLoadP99Ms).toBeUndefined();
    }
    for (const side of [memory!.sides.redis!, memory!.sides.quotadb!]) {
      expect(side.measures.residentBytesPerKey!.rounds).toHaveLength(1);
    }
  },
  120_000,
);
