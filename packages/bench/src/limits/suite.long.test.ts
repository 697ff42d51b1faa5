import { describeWithRedis } from '@quotadb/wire/testing';
import { expect, test } from 'vitest';
import { readNewestRun } from '../results/history.js';
import type { LimitsRow } from '../results/limits-row.js';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

describeWithRedis('quotadb bench limits', () => {
  test('measures every side of every contest and keeps a row for each', { timeout: 120_000 }, async () => {
    const directory = temporaryDirectory();
    const ran = await bench('limits', '--seconds', '0.02', '--rounds', '1', '--results', directory);
    expect(ran).toMatchObject({ code: ExitCode.Ok });
    const rows = readNewestRun<LimitsRow>(directory);
    expect(rows.map(({ contest, sides }) => [contest, Object.keys(sides).length])).toEqual([
      ['commands', 12],
      ['decisions', 6],
      ['adapters', 4],
      ['clients', 3],
      ['scripts', 16],
    ]);
    for (const { sides } of rows) {
      for (const side of Object.values(sides)) expect(side.operationsPerSecond.median).toBeGreaterThan(0);
    }
    const { ratios = {} } = rows[0]!;
    expect(Object.keys(ratios)).toHaveLength(9);
    expect(ratios['QUOTA.TAKE, pipeline 16']).toMatchObject({ to: 'INCR, pipeline 16' });
    expect(ran.printed).toMatch(/RATE\.LIMIT, pipeline 64 .* \([\d.]+x INCR, pipeline 64\)/);
    expect(ran.printed).toContain('rate-limiter-flexible, memory');
  });
});
