import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithRedis } from '@quotadb/wire/testing';
import { expect, test } from 'vitest';
import { ExitCode, runBench } from '../run-bench.js';
import type { LimitsRow } from './run-limits-bench.js';

describeWithRedis('quotadb bench limits', () => {
  test('measures every side of every contest and keeps a row for each', { timeout: 120_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-limits-test-'));
    let printed = '';
    const output = {
      print: (text: string) => {
        printed += text;
      },
      progress: () => undefined,
    };
    try {
      const code = await runBench(['limits', '--seconds', '0.1', '--rounds', '1', '--results', directory], output);
      expect(code).toBe(ExitCode.Ok);
      const [file] = readdirSync(directory);
      const lines = readFileSync(join(directory, file!), 'utf8').trim().split('\n');
      const rows = lines.map((line) => JSON.parse(line) as LimitsRow);
      expect(rows.map(({ contest, sides }) => [contest, Object.keys(sides).length])).toEqual([
        ['decisions', 6],
        ['adapters', 4],
        ['clients', 3],
      ]);
      for (const { sides } of rows) {
        for (const side of Object.values(sides)) expect(side.operationsPerSecond.median).toBeGreaterThan(0);
      }
      expect(printed).toContain('rate-limiter-flexible, memory');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

test('mistakes in the flags are reported together', async () => {
  const mistakes: string[] = [];
  const output = { print: () => undefined, progress: (text: string) => mistakes.push(text) };
  expect(await runBench(['limits', '--contest', 'none', '--rounds', '0'], output)).toBe(ExitCode.Usage);
  expect(mistakes.join('\n')).toMatch(/--contest[\s\S]*--rounds/);
});
