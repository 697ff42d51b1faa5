import { Batch } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { decodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { SimulatedRegions } from './simulated-regions.js';

/**
 * What rate limits across regions cost and admit: the commands, stores and replicas of servers over a simulated network, so that
 * a figure is the same on every machine. Two questions:
 *
 *   traffic    messages, bytes and cells sent between regions for a million requests
 *   admission  what was admitted, beside what one region would have admitted that all requests went to
 */
const START_MS = Date.UTC(2026, 5, 1);
const MILLION = 1_000_000;
const NAMES = ['ap', 'br', 'ca', 'de', 'eu', 'fi', 'gb', 'hk'];
const BATCH_TAG = (FrameKind.batch << 3) | 2;
const STEP_MS = 1;

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
  /** What regions say to each other in the same time when nothing happens; not part of the above. */
  readonly idleMessages: number;
  readonly admitted: number;
}

export interface AdmissionSetup {
  readonly regions: number;
  readonly roundTripMs: number;
  readonly publishPercent: number;
  /** Regions that never hear of each other. */
  readonly isIndependent: boolean;
  readonly limit: number;
  readonly windowMs: number;
  readonly windows: number;
  /** Requests in a window of all regions together, evenly spread over them, as a multiple of the limit. */
  readonly load: number;
}

export interface Admission {
  readonly admitted: number;
  /** Of one region with all requests. */
  readonly reference: number;
  readonly overPercent: number;
  /** The fixed window in which the most was admitted, beyond the limit. */
  readonly worstWindowPercent: number;
}

/** What was sent, counted from when it is told to. */
class Meter {
  messages = 0;
  bytes = 0;
  cells = 0;
  private readonly batch = new Batch();

  count(frame: Uint8Array): void {
    this.messages++;
    this.bytes += frame.length;
    if (frame[0] !== BATCH_TAG) return;
    this.cells += (decodeFrame(frame, this.batch) as Extract<Frame, { kind: typeof FrameKind.batch }>).batch.count;
  }

  reset(): void {
    this.messages = 0;
    this.bytes = 0;
    this.cells = 0;
  }
}

interface Cluster {
  readonly regions: SimulatedRegions;
  readonly meter: Meter;
}

async function startRegions(
  count: number,
  roundTripMs: number,
  publishPercent: number,
  isIndependent = false,
): Promise<Cluster> {
  const meter = new Meter();
  const delayMs = roundTripMs / 2;
  const regions = new SimulatedRegions({
    names: NAMES.slice(0, count),
    seed: 1,
    startMs: START_MS,
    network: { delayMs, jitterMs: 0, loss: 0, duplication: 0, reordering: 0, windowBytes: Number.POSITIVE_INFINITY },
    config: { ratePublishPercent: publishPercent },
    maxMemoryBytes: 256 * 1024 * 1024,
    sent: (_, frame) => meter.count(frame),
  });
  if (isIndependent)
    for (const from of regions.running) for (const to of regions.running) regions.network.cut(from.region, to.region);
  else await regions.connected();
  return { regions, meter };
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

/** The same time passes with and without requests, so what is sent in any case is the same in both. */
async function exchange(setup: TrafficSetup, hasRequests: boolean) {
  const { regions, meter } = await startRegions(setup.regions, setup.roundTripMs, setup.publishPercent);
  const random = new Random(2);
  let admitted = 0;
  let sent = 0;
  meter.reset();
  while (sent < setup.requests) {
    await regions.pass(STEP_MS);
    const batch = (setup.requestsPerSecond * STEP_MS) / 1000;
    for (const end = Math.min(sent + batch, setup.requests); sent < end; sent++) {
      if (!hasRequests) continue;
      const key = `id:${random.below(setup.identifiers)}`;
      if (random.pick(regions.running).rate('RATE.LIMIT', key, setup.limit, setup.windowMs, 1).allowed) admitted++;
    }
  }
  regions.end();
  failOn(regions);
  const { messages, bytes, cells } = meter;
  return { messages, bytes, cells, admitted };
}

export async function measureAdmission(setup: AdmissionSetup): Promise<Admission> {
  const { admitted, worst } = await admit(setup);
  const alone = await admit({ ...setup, regions: 1 });
  return {
    admitted,
    reference: alone.admitted,
    overPercent: percent(admitted / alone.admitted - 1),
    worstWindowPercent: percent(worst / setup.limit - 1),
  };
}

async function admit(setup: AdmissionSetup): Promise<{ admitted: number; worst: number }> {
  const { limit, windowMs, windows, load } = setup;
  const { regions } = await startRegions(
    setup.regions,
    setup.roundTripMs,
    setup.publishPercent,
    setup.isIndependent || setup.regions === 1,
  );
  const random = new Random(3);
  const nowMs = () => regions.scheduler.nowMs;
  await regions.pass(windowMs - (nowMs() % windowMs));
  const meanGapMs = windowMs / (limit * load);
  const endMs = nowMs() + windows * windowMs;
  const perWindow = new Map<number, number>();
  let nextMs = nowMs();
  while (nextMs < endMs) {
    await regions.pass(nextMs - nowMs());
    const region = random.pick(regions.running);
    if (region.rate('RATE.LIMIT', 'hot', limit, windowMs, 1).allowed) {
      const window = Math.floor(nowMs() / windowMs);
      perWindow.set(window, (perWindow.get(window) ?? 0) + 1);
    }
    nextMs += -Math.log(1 - random.next()) * meanGapMs;
  }
  regions.end();
  failOn(regions);
  const counts = [...perWindow.values()];
  return { admitted: counts.reduce((sum, count) => sum + count, 0), worst: Math.max(...counts) };
}

function failOn({ failures }: SimulatedRegions): void {
  if (failures.length > 0) throw new Error(failures[0]);
}

/** To a tenth. */
function percent(share: number): number {
  return Math.round(share * 1000) / 10;
}
