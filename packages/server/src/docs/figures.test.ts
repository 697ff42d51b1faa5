import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The table of figures in the README, and the rows that it quotes: the worst of the last three runs of each. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const results = `${root}bench/results/`;
const RUNS = 3;
const PIPELINES = [1, 16, 64] as const;

interface Row {
  readonly date: string;
  readonly workload: string;
  readonly client: string;
  readonly keys: number;
  readonly connections: number;
  readonly pipeline: number;
  readonly ratiosToRedis?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const rows = readdirSync(results)
  .filter((name) => name.endsWith('.ndjson'))
  .flatMap((name) =>
    readFileSync(results + name, 'utf8')
      .trim()
      .split('\n'),
  )
  .map((line) => JSON.parse(line) as Row)
  .filter(({ workload, client }) => workload === 'incr-uniform' && client === 'quotadb-bench')
  .filter(({ keys, connections }) => keys === 1_000_000 && connections === 50)
  .sort((one, other) => (one.date < other.date ? -1 : 1));

function worstOf(side: string, measure: string, pipeline: number, pick: typeof Math.max): string {
  const ratios = rows
    .filter((row) => row.pipeline === pipeline)
    .flatMap(({ ratiosToRedis }) => ratiosToRedis?.[side]?.[measure] ?? [])
    .slice(-RUNS);
  expect(ratios).toHaveLength(RUNS);
  return `${pick(...ratios).toFixed(2)}×`;
}

test.each([
  ['server CPU per operation, one lane', 'quotadb 1 lane', 'serverCpuMicrosecondsPerOperation', Math.max],
  ['throughput, one lane', 'quotadb 1 lane', 'throughputPerSecond', Math.min],
  ['throughput, two lanes', 'quotadb 2 lanes', 'throughputPerSecond', Math.min],
  ["p99 at half of Redis's highest load, one lane", 'quotadb 1 lane', 'halfLoadP99Ms', Math.max],
])('the README quotes the worst of the last three runs: %s', (name, side, measure, pick) => {
  const line = readFileSync(`${root}README.md`, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`| ${name}`));
  const [, , ...figures] = (line ?? '').split('|').map((cell) => cell.trim());
  expect(figures.slice(0, PIPELINES.length)).toEqual(
    PIPELINES.map((pipeline) => worstOf(side, measure, pipeline, pick)),
  );
});
