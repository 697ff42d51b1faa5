import type { ComponentFeed, FedComponent, FoldOutcome } from '../../domain/ports/component-feed.js';
import { presentValues } from './apply-runs.js';
import { attempt } from './attempt.js';
import { MAX_FOLD_COMPONENTS } from './bounds.js';
import type { Database } from './database.js';
import { classifyFailure } from './failure.js';
import { alone, type RunStatement } from './statement.js';
import { FOLD_COMPONENTS } from './statements.js';
import { plainArray, textArray } from './text-array.js';

interface Folding {
  readonly changed: Map<string, bigint>;
  readonly missing: Set<string>;
  readonly overflowed: Set<string>;
}

/**
 * Folds components into counts, each part in one statement that moves the component and the count together. It may be
 * repeated at will after any outcome: only counts that are new are ever added.
 */
export class PostgresComponentFeed implements ComponentFeed {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async fold(components: readonly FedComponent[]): Promise<FoldOutcome> {
    const outcome: Folding = { changed: new Map(), missing: new Set(), overflowed: new Set() };
    const newest = mergeSame(components);
    for (let start = 0; start < newest.length; start += MAX_FOLD_COMPONENTS) {
      const part = newest.slice(start, start + MAX_FOLD_COMPONENTS);
      await attempt('keyed', () => this.#database.withConnection((client) => foldPart(alone(client), part, outcome)));
    }
    return outcome;
  }
}

async function foldPart(run: RunStatement, part: readonly FedComponent[], outcome: Folding): Promise<void> {
  const itemIds = [...new Set(part.map(({ itemId }) => itemId))];
  const present = await presentValues(run, itemIds);
  for (const itemId of itemIds) if (!present.has(itemId)) outcome.missing.add(itemId);
  const known = part.filter(({ itemId }) => present.has(itemId));
  await foldPresent(run, known, outcome);
}

/** A count that would leave the 64-bit range fails the statement for all; halves find it and spare the others. */
async function foldPresent(run: RunStatement, part: readonly FedComponent[], outcome: Folding): Promise<void> {
  if (part.length === 0) return;
  try {
    for (const [itemId, value] of await foldStatement(run, part)) outcome.changed.set(itemId, value);
  } catch (error) {
    if (classifyFailure(error) !== 'refused') throw error;
    const itemIds = [...new Set(part.map(({ itemId }) => itemId))];
    if (itemIds.length === 1) {
      outcome.overflowed.add(itemIds[0]!);
      return;
    }
    const first = new Set(itemIds.slice(0, itemIds.length >> 1));
    for (const isFirst of [true, false]) {
      const half = part.filter(({ itemId }) => first.has(itemId) === isFirst);
      await foldPresent(run, half, outcome);
    }
  }
}

async function foldStatement(run: RunStatement, part: readonly FedComponent[]): Promise<Map<string, bigint>> {
  const rows = await run<[string, string]>({
    text: FOLD_COMPONENTS,
    values: [
      textArray(part.map(({ itemId }) => itemId)),
      textArray(part.map(({ origin }) => origin)),
      plainArray(part.map(({ generation }) => generation)),
      plainArray(part.map(({ increments }) => increments)),
      plainArray(part.map(({ decrements }) => decrements)),
    ],
  });
  return new Map(rows.map(([itemId, value]) => [itemId, BigInt(value)]));
}

/** One statement can move a component once, so several states of one component become the newest. */
function mergeSame(components: readonly FedComponent[]): FedComponent[] {
  const newest = new Map<string, FedComponent>();
  for (const component of components) {
    const key = JSON.stringify([component.itemId, component.origin]);
    const other = newest.get(key);
    newest.set(key, other === undefined ? component : newer(other, component));
  }
  return [...newest.values()];
}

function newer(one: FedComponent, other: FedComponent): FedComponent {
  if (one.generation !== other.generation) return one.generation > other.generation ? one : other;
  return {
    ...one,
    increments: larger(one.increments, other.increments),
    decrements: larger(one.decrements, other.decrements),
  };
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
