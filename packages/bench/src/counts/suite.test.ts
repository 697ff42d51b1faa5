import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ExitCode, runBench } from '../run-bench.js';
import type { CountsRow } from './row.js';
import { itemSequence, scenarios } from './scenario.js';

let directory: string;
let printed: string;
const output = {
  print: (text: string) => {
    printed += `${text}\n`;
  },
  progress: () => undefined,
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-counts-test-'));
  printed = '';
});

afterEach(() => rmSync(directory, { recursive: true }));

test('a short run measures both sides and keeps a row for each scenario and for the constant rate', async () => {
  const short = ['--items', '50', '--connections', '8', '--seconds', '1', '--rounds', '1', '--client', 'autocannon'];
  const paced = ['--paced-seconds', '1', '--paced-rate', '100'];
  const code = await runBench(
    ['counts', '--scenario', 'uniform,hot', ...short, ...paced, '--results', directory],
    output,
  );
  expect(code).toBe(ExitCode.Ok);
  const [file] = readdirSync(directory);
  const rows = readFileSync(join(directory, file!), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as CountsRow);
  expect(rows.map(({ scenario }) => scenario)).toEqual(['uniform', 'hot', 'constant-rate']);
  for (const row of rows) {
    expect(row.database).toMatchObject({ fsync: 'on', synchronousCommit: 'on' });
    expect(row.sides.quotadb).toMatchObject({ failures: { maximum: 0 } });
    expect(row.sides.quotadb!.requestsPerSecond.median).toBeGreaterThan(0);
  }
  expect(Object.keys(rows[0]!.sides)).toEqual(['quotadb', 'one-statement']);
  expect(rows[2]!.sides.quotadb!.requestsPerSecond.median).toBeLessThan(110);
  expect(printed).toContain('times the one-statement service');
}, 60_000);

test('mistakes in the flags are reported together', async () => {
  const mistakes: string[] = [];
  const code = await runBench(['counts', '--items', '0', '--scenario', 'sideways'], {
    ...output,
    progress: (text) => mistakes.push(text),
  });
  expect(code).toBe(ExitCode.Usage);
  expect(mistakes.join('\n')).toMatch(/--scenario[\s\S]*--items/);
});

test('scenarios ask for what they say', () => {
  const [uniform, hot, zipf] = scenarios.map((scenario) => itemSequence(scenario, 100));
  const share = (items: string[]) => items.filter((item) => item === 'item-0').length / items.length;
  expect(share(uniform!)).toBeCloseTo(0.01, 2);
  expect(share(hot!)).toBe(1);
  expect(share(zipf!)).toBeGreaterThan(0.15);
});
