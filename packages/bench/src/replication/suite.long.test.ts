import { expect, test } from 'vitest';
import { readHistory } from '../results/history.js';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

test('throughput, lag, hot key and joining are measured into the history', { timeout: 240_000 }, async () => {
  const directory = temporaryDirectory();
  const small = ['--smoke', '--keys', '100', '--join-keys', '2000', '--rate', '500', '--other-rate', '500'];
  const ran = await bench('replication', ...small, '--results', directory);
  expect(ran).toMatchObject({ code: ExitCode.Ok });
  const rows = readHistory(directory);
  expect(rows.map(({ workload }) => workload)).toEqual([
    'replication-throughput',
    'replication-lag',
    'replication-hot-key',
    'replication-join',
    'replication-join-100ms',
  ]);
  expect(rows[2]?.sides['three regions']?.measures.componentsPerMillionIncrements?.median).toBeGreaterThan(0);
});
