import {
  countSlots,
  type MapDocument,
  type MapStore,
  mapOf,
  type PlannedMove,
  parseRange,
  planMove,
  planRebalance,
  type SlotRange,
  setPaused,
} from '@quotadb/cluster';
import { EXIT_OK } from '../terminal/exit-codes.js';
import { Failure } from '../terminal/run-command.js';
import { changeMap, type Plan } from './change-map.js';
import { printRanges } from './status.js';
import type { StoreCommand } from './store-command.js';

const LOOK_MS = 250;
/** A reason for waiting is shown when it lasts. */
const SILENT_LOOKS = 8;

/** `quotadb cluster move`. */
export const runMove: StoreCommand['run'] = async (store, [slots], options) => {
  const ranges = rangesOfText(slots);
  const to = String(options.to);
  return runPlan(store, options, ({ document }) => {
    const after = orFailure(() => planMove(document, ranges, to));
    const moves = mapOf(after).moves.slice(document.moves?.length ?? 0);
    return { document: after, lines: moves.map(printMove) };
  });
};

/** `quotadb cluster rebalance`. */
export const runRebalance: StoreCommand['run'] = async (store, _, options) => {
  const weights = weightsOfText(String(options.weights ?? ''));
  return runPlan(store, options, ({ document }) => {
    const { document: after, moves } = orFailure(() => planRebalance(document, weights));
    if (moves.length === 0) throw new Failure('nothing is to move: every group has its part');
    return { document: after, lines: moves.map(printMove) };
  });
};

/** `quotadb cluster pause`: a batch that is held goes back, and nothing moves until `resume`. */
export const runPause: StoreCommand['run'] = (store, _, options) => setPause(store, options, true);
export const runResume: StoreCommand['run'] = (store, _, options) => setPause(store, options, false);

async function setPause(store: MapStore, options: Readonly<Record<string, unknown>>, isPaused: boolean) {
  const line = isPaused ? 'moves stand still until quotadb cluster resume' : 'moves go on';
  await changeMap(
    store,
    ({ document }) => {
      if ((document.paused ?? false) === isPaused)
        throw new Failure(isPaused ? 'moves are paused' : 'nothing is paused');
      return { document: setPaused(document, isPaused), lines: [line] };
    },
    { ...options, yes: true },
  );
  return EXIT_OK;
}

async function runPlan(
  store: MapStore,
  options: Readonly<Record<string, unknown>>,
  plan: (before: { readonly document: MapDocument }) => Plan,
): Promise<number> {
  await changeMap(store, plan, options);
  if (options.wait !== false && options.json !== true) await watch(store);
  return EXIT_OK;
}

/** Until no slot is on its way any more. The moves go on without it. */
async function watch(store: MapStore): Promise<void> {
  let shown = '';
  for (let looks = 0; ; looks++) {
    const [stored, statements] = await Promise.all([store.read(), store.members()]);
    const moves = stored === undefined ? [] : mapOf(stored.document).moves;
    if (moves.length === 0) break;
    const slots = moves.reduce((sum, move) => sum + countSlots(move.slots), 0);
    const copies = moves.reduce((sum, move) => sum + countSlots(move.left), 0);
    const waits = [...new Set([...statements.values()].flatMap((statement) => statement.waits ?? []))];
    const reason = looks >= SILENT_LOOKS && waits.length > 0 ? `; waits: ${waits.join('; ')}` : '';
    const line = `${slots} slots to move, copies of ${copies} to delete${reason}`;
    if (line !== shown) {
      process.stdout.write(`${line}\n`);
      looks = 0;
    }
    shown = line;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  process.stdout.write('all slots are where they belong\n');
}

function printMove({ from, to, slots }: PlannedMove): string {
  return `${countSlots(slots)} slots move from ${from} to ${to}: ${printRanges(slots)}`;
}

function rangesOfText(text: string): SlotRange[] {
  return text.split(',').map((item) => {
    const range = parseRange(item.trim());
    if (range === undefined)
      throw new Failure(`slots are numbers and ranges from 0 to 16383, as 0-100,200, not ${item}`);
    return range;
  });
}

function weightsOfText(text: string): Map<string, number> {
  const items = text === '' ? [] : text.split(',');
  return new Map(
    items.map((item) => {
      const [name, weight] = item.split('=');
      if (!/^\d{1,4}$/.test(weight ?? '')) throw new Failure(`weights are given as red=2,blue=1, not ${item}`);
      return [name, Number(weight)];
    }),
  );
}

function orFailure<Result>(plan: () => Result): Result {
  try {
    return plan();
  } catch (error) {
    throw new Failure((error as Error).message);
  }
}
