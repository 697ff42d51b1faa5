import { ByteInput, countedGenerations, type Engine, OWN_ORIGIN } from '@quotadb/engine';
import {
  type Allotment,
  AllotmentKey,
  initialOf,
  type Ledger,
  type Policy,
  windowAt,
  windowEndMs,
} from '@quotadb/quota';

/** Where the tokens of one subject are. What is told of other regions is what has been heard of them. */
export interface Whereabouts {
  readonly limit: number;
  /** Until the window is over; -1 where there is none. */
  readonly resetMs: number;
  readonly places: readonly Place[];
}

export interface Place {
  readonly region: string;
  readonly isOwn: boolean;
  /** Not spent and not set aside: it can be granted to others. */
  readonly held: number;
  /** Set aside to be spent there. */
  readonly setAside: number;
  /** What is left of that; only of the own region it is known. */
  readonly pocket: number | null;
}

export interface WhereaboutsView {
  readonly engine: Engine;
  readonly ledger: Ledger;
  readonly region: string;
  /** The region of an origin, as far as it is known. */
  readonly regionOf: (origin: Uint8Array) => string | undefined;
}

/** Lives of replicas that are gone pile up; nobody needs more than these to see where tokens are. */
const MAXIMUM_ORIGINS = 256;

export function findTokens(view: WhereaboutsView, policy: Policy, subject: Uint8Array): Whereabouts {
  const { engine, ledger, region } = view;
  const cell: Allotment = { policy: policy.number, window: windowAt(policy, engine.nowMs), subject };
  const marked = countsByOrigin(engine, new AllotmentKey().marksOf(cell));
  const [received, granted] = grants(engine, cell);
  const places = new Map<string, { held: number; setAside: number }>();
  const origins = Math.min(engine.origins.count, MAXIMUM_ORIGINS);
  const placeOf = (name: string) => {
    const place = places.get(name) ?? { held: name === region ? 0 : initialOf(policy, name), setAside: 0 };
    places.set(name, place);
    return place;
  };
  for (let origin = 0; origin < origins; origin++) {
    if (origin === OWN_ORIGIN) continue;
    const name = view.regionOf(engine.origins.idOf(origin));
    const [setAside, had, gave] = [marked, received, granted].map((sums) => sums.get(origin) ?? 0);
    if (name === undefined || name === region) continue;
    const place = placeOf(name);
    place.setAside += setAside;
    place.held += had - gave - setAside;
  }
  const own: Place = {
    region,
    isOwn: true,
    held: Math.max(0, ledger.rights(policy, cell)),
    setAside: marked.get(OWN_ORIGIN) ?? 0,
    pocket: ledger.balance(cell),
  };
  const others = [...places].map(
    ([name, { held, setAside }]): Place => ({
      region: name,
      isOwn: false,
      held: Math.max(0, held),
      setAside,
      pocket: null,
    }),
  );
  const resetMs = policy.windowMs === 0 ? -1 : Math.max(0, windowEndMs(policy, cell.window) - engine.nowMs);
  return { limit: policy.limit, resetMs, places: [own, ...others] };
}

/** What every origin was granted, and has granted, by its index. */
function grants(engine: Engine, cell: Allotment): [received: Map<number, number>, granted: Map<number, number>] {
  const received = new Map<number, number>();
  const granted = new Map<number, number>();
  const origins = Math.min(engine.origins.count, MAXIMUM_ORIGINS);
  for (let to = 0; to < origins; to++) {
    const given = countsByOrigin(engine, new AllotmentKey().grantsTo(cell, engine.origins.idOf(to)));
    for (const [from, amount] of given) {
      received.set(to, (received.get(to) ?? 0) + amount);
      granted.set(from, (granted.get(from) ?? 0) + amount);
    }
  }
  return [received, granted];
}

function countsByOrigin(engine: Engine, { input, length }: AllotmentKey): Map<number, number> {
  const lives = countedGenerations(engine, ByteInput.copyOf(input.bytes.subarray(0, length)), 0, length, new Map());
  return new Map(lives.map(({ originIndex, positive, negative }) => [originIndex, Number(positive - negative)]));
}
