import { ByteInput, countedGenerations, type Engine, OWN_ORIGIN } from '@quotadb/engine';
import {
  type Allotment,
  AllotmentKey,
  type Ledger,
  limitOf,
  type Policy,
  type PolicyBook,
  windowAt,
  windowEndMs,
} from '@quotadb/quota';

/** Where the tokens of one subject are: exact for this region, for others as of their last replicated changes. */
export interface TokenLocations {
  readonly limit: number;
  /** Milliseconds to the end of the window; -1 for a quota without windows. */
  readonly resetMs: number;
  readonly places: readonly Place[];
}

export interface Place {
  readonly region: string;
  readonly isOwn: boolean;
  /** Neither spent nor set aside: it can be granted to other regions. */
  readonly held: number;
  /** Set aside to be spent there. */
  readonly setAside: number;
  /** The unspent part of `setAside`, the local balance; null for other regions, which do not replicate it. */
  readonly localBalance: number | null;
}

interface TokenLocationsView {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly book: PolicyBook;
  readonly region: string;
  /** The region of an origin; undefined where it is unknown. */
  readonly regionOf: (origin: Uint8Array) => string | undefined;
}

/** Origins of former incarnations pile up; this bounds the work for one subject. */
const MAXIMUM_ORIGINS = 256;

export function locateTokens(view: TokenLocationsView, policy: Policy, subject: Uint8Array): TokenLocations {
  const { engine, ledger, region } = view;
  const allotment: Allotment = { policy: policy.number, window: windowAt(policy, engine.nowMs), subject };
  const limit = limitOf(policy, subject, allotment.window);
  const marked = countsByOrigin(engine, new AllotmentKey().marksOf(allotment));
  const [received, granted] = grants(engine, allotment);
  const others = new Map<string, { held: number; setAside: number }>();
  for (let origin = 0; origin < originCount(engine); origin++) {
    const name = origin === OWN_ORIGIN ? region : view.regionOf(engine.origins.idOf(origin));
    if (name === undefined || name === region) continue;
    const place = others.get(name) ?? { held: view.book.initialOf(policy, allotment.window, limit, name), setAside: 0 };
    others.set(name, place);
    const [setAside, had, gave] = [marked, received, granted].map((sums) => sums.get(origin) ?? 0);
    place.setAside += setAside;
    place.held += had - gave - setAside;
  }
  const own: Place = {
    region,
    isOwn: true,
    held: Math.max(0, ledger.rights(policy, allotment)),
    setAside: marked.get(OWN_ORIGIN) ?? 0,
    localBalance: ledger.balance(allotment),
  };
  const places = [...others].map(
    ([name, { held, setAside }]): Place => ({
      region: name,
      isOwn: false,
      held: Math.max(0, held),
      setAside,
      localBalance: null,
    }),
  );
  const resetMs = policy.windowMs === 0 ? -1 : Math.max(0, windowEndMs(policy, allotment.window) - engine.nowMs);
  return { limit, resetMs, places: [own, ...places] };
}

/** The sums that every origin was granted, and has granted, by its index. */
function grants(engine: Engine, allotment: Allotment): [received: Map<number, number>, granted: Map<number, number>] {
  const received = new Map<number, number>();
  const granted = new Map<number, number>();
  for (let to = 0; to < originCount(engine); to++) {
    const given = countsByOrigin(engine, new AllotmentKey().grantsTo(allotment, engine.origins.idOf(to)));
    for (const [from, amount] of given) {
      received.set(to, (received.get(to) ?? 0) + amount);
      granted.set(from, (granted.get(from) ?? 0) + amount);
    }
  }
  return [received, granted];
}

function originCount(engine: Engine): number {
  return Math.min(engine.origins.count, MAXIMUM_ORIGINS);
}

function countsByOrigin(engine: Engine, { input, length }: AllotmentKey): Map<number, number> {
  const key = ByteInput.copyOf(input.bytes.subarray(0, length));
  const generations = countedGenerations(engine, key, 0, length, new Map());
  return new Map(generations.map(({ originIndex, positive, negative }) => [originIndex, Number(positive - negative)]));
}
