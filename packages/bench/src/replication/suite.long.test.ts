import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readHistory } from '../results/history.js';
import { ExitCode, runBench } from '../run-bench.js';

const TIMEOUT_MS = 240_000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-test-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

test(
  'throughput, lag, hot key and joining are measured into the history',
  async () => {
    const small = ['--rounds', '1', '--seconds', '0.2', '--keys', '100', '--join-keys', '2000', '--rate', '500'];
    const flags = ['--other-rate', '500', '--connections', '4', '--results', directory, ...small];
    const printed: string[] = [];
    const output = { print: (text: string) => printed.push(text), progress: (text: string) => printed.push(text) };
    expect({ code: await runBench(['replication', ...flags], output), printed }).toMatchObject({ code: ExitCode.Ok });
    const rows = readHistory(directory);
    expect(rows.map(({ workload }) => workload)).toEqual([
      'replication-throughput',
      'replication-lag',
      'replication-hot-key',
      'replication-join',
      'replication-join-100ms',
    ]);
    expect(rows[2]?.sides['three regions']?.measures.componentsPerMillionIncrements?.median).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
