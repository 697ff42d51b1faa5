import { type Engine, Status } from '@quotadb/engine';
import { type Allotment, type Policy, Taker, type UsageRecorder, Verdict } from '@quotadb/quota';
import { Charge, KeyList } from '@quotadb/rate';
import { type Item, type ItemDecision, isOfTokens } from './decision.js';
import { ExactMeter, type Tokens } from './exact-meter.js';
import { LeaseMeter, type LeaseWindows } from './lease-meter.js';
import { BucketMeter, FixedMeter, type PublishPercent, SlidingMeter } from './local-meters.js';
import type { BilledMeter, Meter } from './meter.js';

export interface AttemptsOptions {
  readonly engine: Engine;
  /** Undefined where this thread does not know the quota. */
  readonly policyOf: (name: string) => Policy | undefined;
  readonly publishPercent: PublishPercent;
  /** Where usage is exported. */
  readonly usage?: UsageRecorder | undefined;
  /** On the thread that keeps leases. */
  readonly leaseWindows?: LeaseWindows | undefined;
}

/** One attempt at a decision. Where the verdict is unknown, or the engine refused, nothing was charged. */
export interface Attempted {
  readonly verdict: Verdict;
  readonly status: Status;
  readonly decisions: readonly ItemDecision[];
  /** The tokens that the local balances have too few of; the token broker may find more. */
  readonly missing: readonly Tokens[];
  /** Items in shadow whose local balance has too little: they are charged later, by the token broker's thread. */
  readonly lateShadows: readonly Item[];
  /** Local balances that have just run low, and their refill targets. */
  readonly low: readonly Tokens[];
  /** Leases whose tokens were taken, to be kept from now on. */
  readonly leases: readonly { readonly item: Item; readonly allotments: readonly Allotment[] }[];
}

/** A counter, and the item that it is charged for; two items of one request can have the same counter. */
interface Measured<AMeter extends Meter = Meter> {
  readonly item: Item;
  readonly meter: AMeter;
}

/**
 * Decides a request against several limits of any kinds in one step, on any thread: all are charged, or none is. It
 * holds the locks of all their counters meanwhile, so no other thread sees a part of it. One thread, one attempt at a
 * time.
 */
export class Attempts {
  private readonly engine: Engine;
  private readonly keys = new KeyList();
  private readonly pools: { readonly [Name in Item['kind']]: Pool<Meter> };
  private readonly policyOf: AttemptsOptions['policyOf'];
  private readonly usage: UsageRecorder | undefined;

  constructor({ engine, policyOf, publishPercent, usage, leaseWindows }: AttemptsOptions) {
    const taker = new Taker(engine);
    this.engine = engine;
    this.policyOf = policyOf;
    this.usage = usage;
    this.pools = {
      exact: new Pool(() => new ExactMeter(taker, policyOf)),
      sliding: new Pool(() => new SlidingMeter(publishPercent)),
      fixed: new Pool(() => new FixedMeter()),
      bucket: new Pool(() => new BucketMeter(publishPercent)),
      concurrency: new Pool(() => new LeaseMeter(taker, policyOf, leaseWindows)),
    };
  }

  /** The first quota among the items that this thread does not know. */
  findUnknown(items: readonly Item[]): string | undefined {
    return items.find(
      ({ kind, name, limit }) => isOfTokens(kind) && isLimited(limit) && this.policyOf(name) === undefined,
    )?.name;
  }

  /** The time of the engine is the time of the decision. Every quota among the items must be known here. */
  attempt(items: readonly Item[], isPeek: boolean): Attempted {
    const measured = this.measure(items);
    const attempted = this.decide(items, measured, isPeek);
    return this.usage === undefined || isPeek ? attempted : this.count(this.usage, measured, attempted);
  }

  /** Counts what was charged and is billed, after the locks: the counters of usage are in other shards. */
  private count(usage: UsageRecorder, measured: readonly Measured[], attempted: Attempted): Attempted {
    if (attempted.verdict !== Verdict.allowed || attempted.status !== Status.Ok) return attempted;
    const charged = measured.filter(isBilled).filter(({ item, meter }) => meter.allowed && item.cost > 0);
    const failed = charged.findIndex(({ item, meter }) => !meter.countUsage(usage, item.cost));
    if (failed === -1) return attempted;
    for (const { item, meter } of charged.slice(0, failed)) meter.uncountUsage(usage, item.cost);
    undo(charged);
    undo(measured.filter(isOfLease).filter(({ item, meter }) => meter.allowed && item.cost > 0));
    return { ...attempted, verdict: Verdict.denied, status: Status.OutOfMemory, leases: [] };
  }

  private decide(items: readonly Item[], measured: readonly Measured[], isPeek: boolean): Attempted {
    // A lease has several keys, also alone.
    if (measured.length === 1 && !isLease(measured[0].meter)) return this.decideAlone(items, measured, isPeek);
    this.keys.clear();
    for (const { meter } of measured) meter.addKeys(this.keys);
    this.keys.lock(this.engine);
    try {
      return isPeek ? this.look(items, measured) : this.decideTogether(items, measured);
    } finally {
      this.engine.unlock();
    }
  }

  /** Items without a limit need no meter, and those with the same counter have one, with the sum of their costs. */
  private measure(items: readonly Item[]): Measured[] {
    for (const pool of Object.values(this.pools)) pool.clear();
    const measured: Measured[] = [];
    for (const item of items) {
      if (!isLimited(item.limit)) continue;
      const same = items.length === 1 ? -1 : measured.findIndex((earlier) => isSameCounter(earlier.item, item));
      if (same === -1) {
        const meter = this.pools[item.kind].next();
        meter.locate(this.engine, item);
        measured.push({ item, meter });
      } else {
        const { item: earlier, meter } = measured[same];
        measured[same] = { item: { ...earlier, cost: earlier.cost + item.cost }, meter };
      }
    }
    return measured;
  }

  /** One counter needs the lock of its key alone, and only while it is open. */
  private decideAlone(items: readonly Item[], measured: readonly Measured[], isPeek: boolean): Attempted {
    const [{ item, meter }] = measured;
    const status = meter.decide(this.engine, item, isPeek ? Charge.Never : Charge.IfAllowed);
    const isLate = isUnknown(meter) && item.shadow;
    return this.describe(items, measured, {
      verdict: item.shadow ? Verdict.allowed : verdictOf(meter),
      status,
      missing: isUnknown(meter) && !item.shadow ? meter.missing(item.cost) : [],
      lateShadows: isLate ? [item] : [],
    });
  }

  private look(items: readonly Item[], measured: readonly Measured[]): Attempted {
    const verdict = this.decideLocal(measured);
    for (const { item, meter } of measured) if (isExact(meter)) meter.decide(this.engine, item, Charge.Never);
    const isDenied = verdict === Verdict.denied || measured.some(({ item, meter }) => !item.shadow && !meter.allowed);
    return this.describe(items, measured, { verdict: isDenied ? Verdict.denied : Verdict.allowed });
  }

  private decideTogether(items: readonly Item[], measured: readonly Measured[]): Attempted {
    if (this.decideLocal(measured) === Verdict.denied) return this.look(items, measured);
    const exact = measured.filter(isOfExact).filter(({ item }) => !item.shadow);
    const taken = this.take(exact);
    const verdict = worst(exact);
    if (verdict !== Verdict.allowed) {
      undo(taken);
      const missing = exact.flatMap(({ item, meter }) => (isUnknown(meter) ? meter.missing(item.cost) : []));
      this.peekShadows(measured);
      return this.describe(items, measured, { verdict, missing });
    }
    const status = this.chargeLocal(measured);
    if (status !== Status.Ok) {
      undo(taken);
      return this.describe(items, measured, { verdict: Verdict.denied, status });
    }
    const lateShadows = this.takeShadows(measured);
    return this.describe(items, measured, { verdict, lateShadows, leases: leasesOf(measured) });
  }

  /** Decides on counters of the local kinds, and charges none. */
  private decideLocal(measured: readonly Measured[]): Verdict {
    let verdict: Verdict = Verdict.allowed;
    for (const { item, meter } of measured) {
      if (isExact(meter)) continue;
      meter.decide(this.engine, item, Charge.Never);
      if (!meter.allowed && !item.shadow) verdict = Verdict.denied;
    }
    return verdict;
  }

  private take(exact: readonly Measured<ExactMeter>[]): readonly Measured<ExactMeter>[] {
    for (const { item, meter } of exact) meter.decide(this.engine, item, Charge.IfAllowed);
    return exact.filter(({ meter }) => meter.allowed);
  }

  /** First makes every counter, so that where memory runs out nothing is charged yet. */
  private chargeLocal(measured: readonly Measured[]): Status {
    const charged = measured.filter(({ item, meter }) => !isExact(meter) && meter.allowed && item.cost > 0);
    for (const { meter } of charged) {
      const status = meter.prepare(this.engine);
      if (status !== Status.Ok) return status;
    }
    for (const { item, meter } of charged) {
      const status = meter.decide(this.engine, item, Charge.IfAllowed);
      if (status !== Status.Ok) throw new Error(`a counter that exists could not be charged: status ${status}`);
    }
    return Status.Ok;
  }

  private takeShadows(measured: readonly Measured[]): readonly Item[] {
    const shadows = measured.filter(isOfExact).filter(({ item }) => item.shadow);
    this.take(shadows);
    return shadows.filter(({ meter }) => isUnknown(meter)).map(({ item }) => item);
  }

  private peekShadows(measured: readonly Measured[]): void {
    for (const { item, meter } of measured)
      if (isExact(meter) && item.shadow) meter.decide(this.engine, item, Charge.Never);
  }

  private describe(
    items: readonly Item[],
    measured: readonly Measured[],
    found: Partial<Attempted> & Pick<Attempted, 'verdict'>,
  ): Attempted {
    const decisions = items.map((item) =>
      decisionOf(
        item,
        measured.find((one) => one.item === item || isSameCounter(one.item, item))?.meter,
        found.verdict,
      ),
    );
    const low = measured.flatMap(({ meter }) => (isExact(meter) ? meter.low() : []));
    return { status: Status.Ok, missing: [], lateShadows: [], leases: [], decisions, low, ...found };
  }
}

/** Meters of one kind that are used again, made when they are needed. */
class Pool<Kept> {
  private readonly kept: Kept[] = [];
  private used = 0;
  private readonly make: () => Kept;

  constructor(make: () => Kept) {
    this.make = make;
  }

  clear(): void {
    this.used = 0;
  }

  next(): Kept {
    if (this.used === this.kept.length) this.kept.push(this.make());
    return this.kept[this.used++];
  }
}

function isLimited(limit: number): boolean {
  return limit !== Number.POSITIVE_INFINITY;
}

/** Whether two items of a request are charged to one counter. */
export function isSameCounter(one: Item, other: Item): boolean {
  return one.name === other.name && one.kind === other.kind && Buffer.compare(one.subject, other.subject) === 0;
}

function isExact(meter: Meter): meter is ExactMeter {
  return meter instanceof ExactMeter;
}

function isOfExact(measured: Measured): measured is Measured<ExactMeter> {
  return isExact(measured.meter);
}

function isLease(meter: Meter): meter is LeaseMeter {
  return meter instanceof LeaseMeter;
}

function isOfLease(measured: Measured): measured is Measured<LeaseMeter> {
  return isLease(measured.meter);
}

/** What it charges is use that can be billed; that of a lease is not. */
function isBilled(measured: Measured): measured is Measured<BilledMeter> {
  const { meter } = measured;
  return (isExact(meter) && !isLease(meter)) || meter instanceof FixedMeter;
}

function isUnknown(meter: Meter): meter is ExactMeter {
  return isExact(meter) && meter.verdict === Verdict.unknown;
}

function verdictOf(meter: Meter): Verdict {
  if (isExact(meter)) return meter.verdict;
  return meter.allowed ? Verdict.allowed : Verdict.denied;
}

/** A denial needs no tokens, so it comes before an unknown verdict. */
function worst(measured: readonly Measured[]): Verdict {
  const verdicts = measured.map(({ meter }) => verdictOf(meter));
  if (verdicts.includes(Verdict.denied)) return Verdict.denied;
  return verdicts.includes(Verdict.unknown) ? Verdict.unknown : Verdict.allowed;
}

function undo(charged: readonly Measured<BilledMeter>[]): void {
  for (const { item, meter } of charged) meter.undo(item.cost);
}

function leasesOf(measured: readonly Measured[]): Attempted['leases'] {
  return measured.flatMap(({ item, meter }) =>
    isLease(meter) && meter.allowed && item.cost > 0 ? [{ item, allotments: meter.allotments }] : [],
  );
}

/**
 * A limit whose tokens have to come from elsewhere has decided nothing yet. In shadow it does not wait for them, and
 * where another limit denies the request does not: it would be allowed where there are some.
 */
function decisionOf({ name, limit, shadow, cost }: Item, meter: Meter | undefined, verdict: Verdict): ItemDecision {
  if (meter === undefined)
    return { name, shadow, allowed: true, limit, remaining: limit, resetMs: -1, retryAfterMs: 0 };
  const { remaining, resetMs } = meter;
  const isOpen = isUnknown(meter) && (shadow || verdict === Verdict.denied);
  const allowed = isOpen ? remaining >= cost : meter.allowed;
  const retryAfterMs = allowed ? 0 : meter.retryAfterMs;
  return { name, shadow, allowed, limit: isExact(meter) ? meter.limit : limit, remaining, resetMs, retryAfterMs };
}
