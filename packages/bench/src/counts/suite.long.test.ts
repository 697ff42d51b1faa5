import { expect, test } from 'vitest';
import { readNewestRun } from '../results/history.js';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import type { CountsRow } from './row.js';

test('a short run measures both sides and keeps a row for each scenario and for the constant rate', async () => {
  const directory = temporaryDirectory();
  const short = ['--items', '50', '--connections', '8', '--client', 'autocannon', '--paced-rate', '100'];
  const ran = await bench('counts', '--smoke', '--scenario', 'uniform', ...short, '--results', directory);
  expect(ran).toMatchObject({ code: ExitCode.Ok });
  const rows = readNewestRun<CountsRow>(directory);
  expect(rows.map(({ scenario }) => scenario)).toEqual(['uniform', 'constant-rate']);
  for (const row of rows) {
    expect(row.database).toMatchObject({ fsync: 'on', synchronousCommit: 'on' });
    expect(row.sides.quotadb).toMatchObject({ failures: { maximum: 0 } });
    expect(row.sides.quotadb!.requestsPerSecond.median).toBeGreaterThan(0);
  }
  expect(Object.keys(rows[0]!.sides)).toEqual(['quotadb', 'one-statement']);
  expect(ran.printed).toContain('times the one-statement service');
}, 60_000);
