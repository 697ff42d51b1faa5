import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { integer } from '../command-line/flags.js';
import { type BenchRun, defineSuite, sharedFlags } from '../command-line/suite.js';
import { type LoadResult, loadJob } from '../load/load-job.js';
import { KEY, type Request } from '../load/request.js';
import { runLoad, runLoadProcess } from '../load/run-load.js';
import { undoNow } from '../machine/cleanup.js';
import { aimedLoadRound, byTurns, fullLoadRound, halfLoadRound, perSecond } from '../measure/rounds.js';
import type { Round } from '../results/measures.js';
import type { RlsRow } from '../results/rls-row.js';
import { median, summarize } from '../results/summary.js';
import { ask } from '../servers/ask.js';
import { type QuotaDBProcess, requireQuotaDB, startQuotaDB } from '../servers/quotadb.js';
import type { GrpcJob } from './grpc-load.js';

const ENTRY = fileURLToPath(new URL('../../dist/rls/load-process.js', import.meta.url));
const HOUR_MS = 3_600_000;
/** Never reached: the figures are of requests that are allowed, as nearly all are. */
const LIMIT = 4_000_000_000;
const VALUES = 1000;
const WARMUP_SHARE = 1 / 4;

/** A kind of limit: the descriptor that asks for it over gRPC, and the same decision over RESP. */
const KINDS: Readonly<Record<string, Request>> = {
  fixed: [['WINDOW.INCRBY', KEY, String(HOUR_MS), '1']],
  sliding: [['RATE.LIMIT', KEY, String(LIMIT), String(HOUR_MS)]],
  exact: [['QUOTA.TAKE', 'bench', KEY, '1']],
};

/** Half of the rate that the door must reach on a core (docs/decisions/0024-envoy-door.md). */
const AIM_PER_SECOND = 10_000;

const YAML = `domain: bench
descriptors:
  - { key: fixed, rate_limit: { unit: hour, requests_per_unit: ${LIMIT} } }
  - { key: sliding, sliding: true, rate_limit: { unit: hour, requests_per_unit: ${LIMIT} } }
  - { key: exact, exact: true, rate_limit: { unit: hour, requests_per_unit: ${LIMIT} } }
`;

const flags = {
  streams: integer('calls in flight over gRPC, and connections over RESP', [1, 1024], '64'),
  connections: integer('connections of the gRPC client', [1, 64], '2'),
  seconds: integer('length of a round', [1, 3600], '10', '1'),
  ...sharedFlags,
};

/** `quotadb bench rls`: Envoy's ShouldRateLimit beside the same decision over RESP, on one server. */
export const rls = defineSuite({
  name: 'rls',
  summary: "Envoy's ShouldRateLimit over gRPC beside the same decision over RESP",
  flags,
  rows: { folder: 'rls', format: formatRow },
  async run(options, run: BenchRun<RlsRow>) {
    const server = await start(requireQuotaDB(options.quotadb), !options.noLimits, run);
    for (const [kind, request] of Object.entries(KINDS)) {
      const rate = { seconds: options.seconds, streams: options.streams, connections: options.connections };
      const sides: readonly Side[] = [
        { name: 'grpc', load: (perSecondWanted, ms) => overGrpc(server, kind, rate, perSecondWanted, ms, run.signal) },
        {
          name: 'resp',
          load: (perSecondWanted, ms) => overResp(server, request, rate.streams, perSecondWanted, ms, run.signal),
        },
      ];
      const measured = await byTurns(sides, options.rounds, (side) =>
        measure(side, options.seconds * 1000, run.signal),
      );
      const summaries = Object.fromEntries(sides.map(({ name }, index) => [name, summarize(measured[index]!)]));
      run.keep({ ...run.stamp, kind, streams: options.streams, limits: server.limits, sides: summaries });
    }
  },
});

type RlsServer = QuotaDBProcess & { readonly rlsPort: number };

interface Side {
  readonly name: string;
  /** As fast as it goes where the rate is 0. */
  readonly load: (operationsPerSecond: number, measureMs: number) => Promise<LoadResult>;
}

/** As fast as the server goes, half as fast, and at half of what it must reach: latencies below its limit. */
async function measure(side: Side, measureMs: number, signal: AbortSignal): Promise<Round> {
  signal.throwIfAborted();
  const full = await side.load(0, measureMs);
  const half = await side.load(Math.max(1, Math.floor(perSecond(full) / 2)), measureMs);
  const aimed = await side.load(AIM_PER_SECOND, measureMs);
  return { ...fullLoadRound(full), ...halfLoadRound(half), ...aimedLoadRound(aimed) };
}

/** One thread: the figures are of one core. */
async function start(program: string, limits: boolean, run: BenchRun<RlsRow>): Promise<RlsServer> {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-rls-'));
  run.cleanup.add(undoNow(() => rmSync(directory, { recursive: true, force: true })));
  writeFileSync(join(directory, 'bench.yaml'), YAML);
  const data = ['--data', join(directory, 'data'), '--transport', 'net'];
  const server = await startQuotaDB(
    { program, flags: [...data, '--rls', '0', '--envoy-config', directory], limits },
    run.cleanup,
  );
  await ask(server.port, 'QUOTA.DEFINE', 'bench', 'LIMIT', String(LIMIT), 'WINDOW', String(HOUR_MS));
  if (server.rlsPort === undefined) throw new Error('the server has no port for gRPC: it is older than --rls');
  return { ...server, rlsPort: server.rlsPort };
}

function overGrpc(
  server: RlsServer,
  key: string,
  { streams, connections }: { readonly streams: number; readonly connections: number },
  operationsPerSecond: number,
  measureMs: number,
  signal: AbortSignal,
): Promise<LoadResult> {
  const job: GrpcJob = {
    port: server.rlsPort,
    serverPid: server.pid,
    domain: 'bench',
    key,
    valueCount: VALUES,
    streams,
    connections,
    warmupMs: measureMs * WARMUP_SHARE,
    measureMs,
    operationsPerSecond,
  };
  return runLoadProcess(ENTRY, job, signal);
}

function overResp(
  server: QuotaDBProcess,
  request: Request,
  connections: number,
  operationsPerSecond: number,
  measureMs: number,
  signal: AbortSignal,
): Promise<LoadResult> {
  const settings = { keyCount: VALUES, pipeline: 1, connections, pattern: [request], operationsPerSecond };
  return runLoad(loadJob(server, { ...settings, warmupMs: measureMs * WARMUP_SHARE, measureMs }), signal);
}

function formatRow({ kind, streams, sides }: RlsRow): string {
  const figures = Object.entries(sides).map(([name, measures]) => {
    const of = (measure: keyof typeof measures, digits: number) =>
      median(measures[measure]?.rounds ?? [0]).toFixed(digits);
    const cpu = of('serverCpuMicrosecondsPerOperation', 1);
    const [half, aimed] = [of('halfLoadP99Ms', 2), of('aimedLoadP99Ms', 2)];
    const latencies = `p99 at half load ${half} ms, at 10,000/s ${aimed} ms`;
    return `${name} ${of('throughputPerSecond', 0)}/s, ${cpu} µs CPU, ${latencies}`;
  });
  return `${kind}, ${streams} streams: ${figures.join('; ')}`;
}
