import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The figures in the README, and the rows that it quotes: the worst of the last three runs of each. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const results = `${root}bench/results/`;
const RUNS = 3;
const PIPELINES = [1, 16, 64] as const;

interface Row {
  readonly date: string;
  readonly workload: string;
  readonly description: string;
  readonly client: string;
  readonly keys: number;
  readonly connections: number;
  readonly pipeline: number;
  readonly sides: Readonly<
    Record<string, { readonly measures: Readonly<Record<string, { readonly median: number }>> }>
  >;
  readonly ratiosToRedis?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const all = readdirSync(results)
  .filter((name) => name.endsWith('.ndjson'))
  .flatMap((name) =>
    readFileSync(results + name, 'utf8')
      .trim()
      .split('\n'),
  )
  .map((line) => JSON.parse(line) as Row)
  .sort((one, other) => (one.date < other.date ? -1 : 1));

const rows = all
  .filter(({ workload, client }) => workload === 'incr-uniform' && client === 'quotadb-bench')
  .filter(({ keys, connections }) => keys === 1_000_000 && connections === 50);

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

const text = readFileSync(`${root}README.md`, 'utf8').replaceAll(/\s+/g, ' ');

/** The worst of the newest rows, or of those that there are. */
function worstRatio(workload: string, side: string, measure: string, pipeline: number): string {
  const ratios = all
    .filter((row) => row.workload === workload && row.pipeline === pipeline && row.keys <= 1_000_000)
    .flatMap(({ ratiosToRedis }) => ratiosToRedis?.[side]?.[measure] ?? []);
  return `${Math.max(...ratios.slice(-RUNS)).toFixed(2)}×`;
}

test('and below the table: memory, and RATE.LIMIT beside a Lua script', () => {
  const memory = (workload: string, side: string) => worstRatio(workload, side, 'residentBytesPerKey', 0);
  const plain = [memory('memory', 'quotadb 1 lane'), memory('memory', 'quotadb 2 lanes')];
  const expiring = [memory('memory-expiring', 'quotadb 1 lane'), memory('memory-expiring', 'quotadb 2 lanes')];
  expect(text).toContain(
    `a key takes ${plain[0]} of Redis's memory with one lane and ${plain[1]} with two, with a TTL ${expiring[0]} and ${expiring[1]}`,
  );
  const cpu = (pipeline: number) =>
    worstRatio('rate-limit', 'quotadb 1 lane', 'serverCpuMicrosecondsPerOperation', pipeline);
  expect(text).toContain(`a \`RATE.LIMIT\` takes ${cpu(1)} (pipeline 1) and ${cpu(16)} (pipeline 16) of the CPU`);
});

test('and the three regions: those rows of one description of which there are three, the newest', () => {
  const newestThree = (workload: string) => {
    const rowsOf = all.filter((row) => row.workload === workload);
    const descriptions = [...new Set(rowsOf.map(({ description }) => description))];
    const groups = descriptions.map((one) => rowsOf.filter(({ description }) => description === one));
    const full = groups.filter((group) => group.length >= RUNS);
    return full
      .sort((one, other) => (one.at(-1)!.date < other.at(-1)!.date ? -1 : 1))
      .at(-1)!
      .slice(-RUNS);
  };
  const figures = (workload: string, side: string, measure: string) =>
    newestThree(workload).map(({ sides }) => sides[side]!.measures[measure]!.median);
  const together = figures('replication-throughput', 'three regions', 'throughputPerSecond');
  const lone = figures('replication-throughput', 'lone', 'throughputPerSecond');
  const share = Math.min(...together.map((throughput, index) => throughput / lone[index]!));
  expect(text).toContain(`a region reaches ${Math.round(share * 100)} % of a lone server's throughput`);
  const [p50, p99] = ['lagP50Ms', 'lagP99Ms'].map((measure) =>
    Math.round(Math.max(...figures('replication-lag', 'three regions', measure))),
  );
  const rate = Math.min(...figures('replication-lag', 'three regions', 'throughputPerSecond'));
  const thousands = (Math.round(rate / 1000) * 1000).toLocaleString('en-US');
  expect(text).toContain(
    `an increment after ${p50} ms at the median, ${p99} ms at p99, at ${thousands} increments a second in each`,
  );
});
