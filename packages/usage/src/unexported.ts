import {
  ByteInput,
  type CountedGeneration,
  countedGenerations,
  type Engine,
  OWN_ORIGIN,
  splitInt64,
} from '@quotadb/engine';

/** The usage of one key that is not exported. */
export interface Unexported {
  /** 0 where there is none. */
  readonly amount: number;
  /**
   * The same for the same usage, and no other: when the counter began, and what had come out of it before. An
   * incarnation that lost its data, and with it that this was exported, exports it under the same mark again.
   */
  readonly mark: string;
  /** What its N comes to when the amount is exported. */
  readonly exportedUpTo: number;
}

/** How long a counter stays once it is exported: a restart must still find it, see Spool.recover. */
const STAYS_MS = 120_000;

/**
 * P − N over all incarnations of this region: what an incarnation had not exported when its data was lost is exported
 * by the next one, as far as other regions had received it. Where it turns out later that the lost one had exported it,
 * the sum is below 0: both exports have one id, and there is nothing to correct.
 */
export function readUnexported(engine: Engine, key: Uint8Array): Unexported {
  const generations = generationsOf(engine, key);
  const own = generations.find(({ originIndex }) => originIndex === OWN_ORIGIN);
  const taken = generations.reduce((sum, { positive }) => sum + positive, 0n);
  const gone = generations.reduce((sum, { negative }) => sum + negative, 0n);
  const born = Math.min(...generations.map((generation) => generation.born));
  const amount = Number(taken - gone);
  return {
    amount: Number.isSafeInteger(amount) ? Math.max(0, amount) : 0,
    mark: `${born.toString(36)}-${gone}`,
    exportedUpTo: Number((own?.negative ?? 0n) + taken - gone),
  };
}

/** Takes the amount out of the counter: it is exported from here on. */
export function noteExported(engine: Engine, key: Uint8Array, amount: number): boolean {
  engine.openAny(ByteInput.copyOf(key), 0, key.length);
  const before = engine.ownTaken;
  engine.add(...splitInt64(BigInt(-amount)));
  const isNoted = engine.ownTaken > before;
  if (isNoted) engine.expireAt(engine.nowMs + STAYS_MS);
  engine.close();
  return isNoted;
}

/**
 * Whether a restarted store holds the export of an amount: N of the incarnation that noted it has come up to it. A
 * counter that is gone had been exported, because exporting is what lets it expire soon.
 */
export function isNotedAsExported(engine: Engine, key: Uint8Array, origin: Uint8Array, exportedUpTo: number): boolean {
  const generations = generationsOf(engine, key);
  if (generations.length === 0) return true;
  const index = engine.origins.find(origin);
  const noted = generations.find(({ originIndex }) => originIndex === index);
  return Number(noted?.negative ?? 0n) >= exportedUpTo;
}

function generationsOf(engine: Engine, key: Uint8Array): CountedGeneration[] {
  return countedGenerations(engine, ByteInput.copyOf(key), 0, key.length, new Map());
}
