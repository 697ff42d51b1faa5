import { expect } from 'vitest';
import { readHistory } from '../results/history.js';
import { ExitCode } from '../run-bench.js';
import { bench, testWithRedis } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

testWithRedis(
  'one command measures every cell of the table of aims with both clients, and gives a verdict on each',
  async () => {
    const results = temporaryDirectory();
    const few = ['--keys', '500,1000', '--pipeline', '16'];
    const { code, progress, printed } = await bench('aims', '--smoke', ...few, '--results', results);
    expect(progress).not.toContain('quotadb bench:');
    expect(code).toBe(ExitCode.Ok);
    const rows = readHistory(results);
    const cells = ['incr-uniform', 'get'].flatMap((workload) =>
      ['quotadb-bench', 'redis-benchmark'].map((client) => ({ workload, client, pipeline: 16 })),
    );
    const expected = [500, 1000].flatMap((keys) => cells.map((cell) => ({ ...cell, keys })));
    expect(rows).toMatchObject(expected);
    for (const { sides } of rows) {
      expect(Object.keys(sides)).toEqual(expect.arrayContaining(['redis', 'quotadb 1 lane', 'quotadb 2 lanes']));
    }
    expect(printed.match(/(met|missed): in [01] of 1 alternations/g)).toHaveLength(3 * rows.length);
  },
  120_000,
);
