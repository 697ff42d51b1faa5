import { ByteInput, type Engine, Status } from '@quotadb/engine';
import { type Charge, SlidingCells, SlidingLimit } from '@quotadb/rate';
import type { NodeProcess } from '../world/process.js';

/** The counts of a sliding window's two cells, as one node reads them: its own, and those of other regions. */
export interface CellsSeen {
  readonly startMs: number;
  readonly current: { readonly own: number; readonly foreign: number };
  readonly previous: { readonly own: number; readonly foreign: number };
}

const sliding = new SlidingLimit();
const cells = new SlidingCells();

export interface RateRequest {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly cost: number;
  readonly publishPercent: number;
}

/** Decides a request in a process, at the time of its node, as RATE.LIMIT and RATE.ADD do. */
export function decide({ engine, node, label }: NodeProcess, request: RateRequest, charge: Charge): boolean {
  const { key, limit, windowMs, cost, publishPercent } = request;
  engine.advanceTo(node.nowMs());
  sliding.locate(engine, ByteInput.copyOf(Buffer.from(key)), 0, Buffer.byteLength(key), limit, windowMs);
  const status = sliding.decide(engine, cost, publishPercent, charge);
  if (status !== Status.Ok) throw new Error(`${label}: a request for ${key} got the status ${status}`);
  return sliding.allowed;
}

export function readCells(engine: Engine, key: string, windowMs: number): CellsSeen {
  cells.locate(engine, ByteInput.copyOf(Buffer.from(key)), 0, Buffer.byteLength(key), windowMs);
  const { current, previous } = cells.parts(engine);
  const numbers = ({ own, foreign }: { own: bigint; foreign: bigint }) => ({
    own: Number(own),
    foreign: Number(foreign),
  });
  return { startMs: cells.startMs, current: numbers(current), previous: numbers(previous) };
}
