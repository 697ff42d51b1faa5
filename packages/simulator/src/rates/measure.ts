import type { Batch } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { Charge } from '@quotadb/rate';
import { DEFAULT_SETTINGS } from '@quotadb/replication';
import { Cluster } from '../world/cluster.js';
import { REGION_NAMES } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { type RatePlan, SERVER_PACE } from './plan.js';
import { decide } from './requests.js';

/**
 * The traffic and the admissions of rate limits across regions: the decisions, stores and replicas of servers over a
 * simulated network, so that a figure is the same on every machine. Two questions:
 *
 *   traffic    messages, bytes and cells sent between regions for a million requests
 *   admission  requests that were admitted, beside those that one region with all of the requests would have admitted
 */
const MILLION = 1_000_000;
const STEP_MS = 1;
const MEMORY_BYTES = 256 * 1024 * 1024;
const CONNECTION_POLL_MS = 500;
/** Of clients that hammer: requests of each region in a millisecond. */
const HAMMERING_PER_MS = 10;

export interface TrafficSetup {
  readonly name: string;
  readonly regions: number;
  readonly roundTripMs: number;
  readonly publishPercent: number;
  readonly identifiers: number;
  readonly limit: number;
  readonly windowMs: number;
  readonly requests: number;
  readonly requestsPerSecond: number;
}

export interface Traffic {
  readonly messagesPerMillion: number;
  readonly bytesPerMillion: number;
  readonly cellsPerMillion: number;
  /** Messages of regions without requests in the same time; not part of the above. */
  readonly idleMessages: number;
  readonly admitted: number;
}

export interface AdmissionSetup {
  readonly regions: number;
  readonly roundTripMs: number;
  readonly publishPercent: number;
  /** Regions without a network between them. */
  readonly isIndependent: boolean;
  readonly limit: number;
  readonly windowMs: number;
  readonly windows: number;
  /**
   * Requests in a window of all regions together, evenly spread over them, as a multiple of the limit; or 'hammering':
   * clients in every region that ask again as soon as they have an answer.
   */
  readonly load: number | 'hammering';
  /** How the requests are spread over the regions, where not evenly: the share of each. */
  readonly shares?: readonly number[];
  readonly seed?: number;
}

export interface Admission {
  readonly admitted: number;
  /** Of one region with all requests. */
  readonly reference: number;
  readonly overPercent: number;
  /** The fixed window in which the most was admitted, beyond the limit. */
  readonly worstWindowPercent: number;
  readonly byWindow: readonly number[];
}

/** Regions that serve requests while nothing fails. */
class RateMeasurement extends Cluster<RatePlan> {
  messages = 0;
  bytes = 0;
  cells = 0;
  override readonly memoryBytes = MEMORY_BYTES;
  private readonly isIndependent: boolean;
  private readonly work: (regions: RateMeasurement) => Promise<void>;

  constructor(plan: RatePlan, isIndependent: boolean, work: (regions: RateMeasurement) => Promise<void>) {
    super(plan, {});
    this.isIndependent = isIndependent;
    this.work = work;
  }

  protected act(): void {}

  checkAll(): void {}

  protected override heal(): Promise<void> {
    return this.end();
  }

  protected async end(): Promise<void> {
    const names = this.nodes.map(({ region }) => region);
    if (this.isIndependent) for (const from of names) for (const to of names) this.network.cut(from, to);
    const isConnected = () =>
      this.running().length === names.length &&
      this.running().every(({ replica, region }) =>
        names.every((name) => name === region || replica.isConnected(name)),
      );
    do await this.pass(CONNECTION_POLL_MS);
    while (!this.isIndependent && !isConnected());
    this.messages = 0;
    this.bytes = 0;
    this.cells = 0;
    await this.work(this);
  }

  override pass(milliseconds: number): Promise<void> {
    return super.pass(milliseconds);
  }

  isAllowed(key: string, random: Random, shares?: readonly number[]): boolean {
    const { limit, windowMs, publishPercent } = this.plan;
    const nodes = this.running();
    const node = shares === undefined ? random.pick(nodes) : nodes[drawShare(shares, random)];
    return decide(node, { key, limit, windowMs, publishPercent, cost: 1 }, Charge.IfAllowed);
  }

  protected override sent(from: NodeProcess, to: NodeProcess, bytes: Uint8Array): void {
    this.messages++;
    this.bytes += bytes.length;
    super.sent(from, to, bytes);
  }

  protected override sentBatch(_: NodeProcess, batch: Batch): void {
    this.cells += batch.count;
  }
}

async function run(
  setup: TrafficSetup | AdmissionSetup,
  isIndependent: boolean,
  work: (regions: RateMeasurement) => Promise<void>,
  seed = 1,
): Promise<RateMeasurement> {
  const { regions, roundTripMs, publishPercent, limit, windowMs } = setup;
  const delayMs = roundTripMs / 2;
  const plan: RatePlan = {
    ...SERVER_PACE,
    beatMs: SERVER_PACE.tickMs,
    seed,
    regions: REGION_NAMES.slice(0, regions).map((region) => ({ region, hasDisk: false, skewMs: 0 })),
    topology: 'mesh',
    shardCount: 4,
    settings: DEFAULT_SETTINGS,
    network: { delayMs, jitterMs: 0, loss: 0, duplication: 0, reordering: 0, windowBytes: Number.POSITIVE_INFINITY },
    skewBoundMs: 0,
    graceMs: 2000,
    keys: [],
    limit,
    windowMs,
    publishPercent,
    steps: [],
  };
  const measurement = new RateMeasurement(plan, isIndependent, work);
  const { failures } = await measurement.run();
  if (failures.length > 0) throw new Error(failures[0]);
  return measurement;
}

export async function measureTraffic(setup: TrafficSetup): Promise<Traffic> {
  const idle = await exchange(setup, false);
  const busy = await exchange(setup, true);
  const perMillion = (count: number) => Math.round((count / setup.requests) * MILLION);
  return {
    messagesPerMillion: perMillion(busy.messages - idle.messages),
    bytesPerMillion: perMillion(busy.bytes - idle.bytes),
    cellsPerMillion: perMillion(busy.cells),
    idleMessages: idle.messages,
    admitted: busy.admitted,
  };
}

/** The same time passes with and without requests, so the messages of idle regions are the same in both. */
async function exchange(setup: TrafficSetup, hasRequests: boolean) {
  const random = new Random(2);
  let admitted = 0;
  const { messages, bytes, cells } = await run(setup, false, async (regions) => {
    for (let asked = 0; asked < setup.requests; ) {
      await regions.pass(STEP_MS);
      const due = Math.min(asked + (setup.requestsPerSecond * STEP_MS) / 1000, setup.requests);
      for (; asked < due; asked++)
        if (hasRequests && regions.isAllowed(`id:${random.below(setup.identifiers)}`, random)) admitted++;
    }
  });
  return { messages, bytes, cells, admitted };
}

export async function measureAdmission(setup: AdmissionSetup): Promise<Admission> {
  const byWindow = await admit(setup);
  const admitted = sum(byWindow);
  const reference = sum(await admit({ ...setup, regions: 1, shares: [1] }));
  return {
    admitted,
    reference,
    overPercent: percent(admitted / reference - 1),
    worstWindowPercent: percent(Math.max(...byWindow) / setup.limit - 1),
    byWindow,
  };
}

/** What all regions admitted together, by window. */
async function admit(setup: AdmissionSetup): Promise<number[]> {
  const { limit, windowMs, windows, load, shares, seed = 3 } = setup;
  const random = new Random(seed);
  const perMs = load === 'hammering' ? HAMMERING_PER_MS * setup.regions : (limit * load) / windowMs;
  const meanGapMs = 1 / perMs;
  const byWindow = new Array<number>(windows).fill(0);
  await run(
    setup,
    setup.isIndependent || setup.regions === 1,
    async (regions) => {
      const nowMs = () => regions.scheduler.nowMs;
      await regions.pass(windowMs - (nowMs() % windowMs));
      const startMs = nowMs();
      const endMs = startMs + windows * windowMs;
      for (let nextMs = startMs; nextMs < endMs; nextMs += -Math.log(1 - random.next()) * meanGapMs) {
        await regions.pass(nextMs - nowMs());
        if (regions.isAllowed('hot', random, shares)) byWindow[Math.floor((nowMs() - startMs) / windowMs)]++;
      }
    },
    setup.seed,
  );
  return byWindow;
}

function drawShare(shares: readonly number[], random: Random): number {
  let drawn = random.next() * sum(shares);
  for (const [index, share] of shares.entries()) {
    if (drawn < share) return index;
    drawn -= share;
  }
  return shares.length - 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** To a tenth. */
function percent(share: number): number {
  return Math.round(share * 1000) / 10;
}
