import { limitOf, type Policy, type Windows, windowAt, windowEndMs, windowStartMs } from '@quotadb/quota';
import { chainOf } from '../catalogue/rules.js';
import { type Catalogue, type LimitEntry, UNLIMITED } from '../catalogue/schema.js';
import type { Item, Kind } from '../decision/decision.js';
import { knownWindow } from './definitions.js';
import { numberOf } from './flatten.js';
import { settledOverrides } from './stamp.js';

/** A limit, ready to be checked. */
interface CompiledLimit {
  readonly name: string;
  readonly kind: Kind;
  readonly isEnabled: boolean;
  readonly startsMs: number;
  readonly endsMs: number;
  readonly shadow: boolean;
  /** Kind bucket: what a full bucket holds, where that is not the limit. */
  readonly burst: number | undefined;
  /** Its window and its limits by subject, in the form in which quotas have them. */
  readonly rule: Policy;
}

/** What the name of a limit or a domain stands for: limits, each with how many parts of the subject it leaves out. */
export interface Target {
  readonly name: string;
  readonly steps: readonly { readonly limit: CompiledLimit; readonly depth: number }[];
}

const SLASH = 0x2f;

/** The limits of one version of the catalogue, compiled: finding the items of a request makes the items and no more. */
export class Resolution {
  readonly catalogue: Catalogue;
  /** By name of a limit or a domain; no name is both. */
  readonly targets: ReadonlyMap<string, Target>;
  /** Of limits of kind fixed. */
  readonly fixedWindows: readonly Windows[];

  /** The catalogue was checked. */
  constructor(catalogue: Catalogue) {
    this.catalogue = catalogue;
    const byName = new Map(catalogue.limits.map((entry) => [entry.name, entry]));
    const compiled = new Map(catalogue.limits.map((entry) => [entry.name, compile(entry, catalogue)]));
    this.fixedWindows = [...compiled.values()].filter(({ kind }) => kind === 'fixed').map(({ rule }) => rule);
    const targets = new Map<string, Target>();
    const add = (name: string, entries: readonly LimitEntry[]) =>
      targets.set(name, { name, steps: stepsOf(entries, byName, compiled) });
    for (const entry of catalogue.limits) add(entry.name, [entry]);
    for (const domain of new Set(catalogue.limits.map((entry) => entry.domain)))
      if (domain !== undefined)
        add(
          domain,
          catalogue.limits.filter((entry) => entry.domain === domain),
        );
    this.targets = targets;
  }

  find(name: string): Target | undefined {
    return this.targets.get(name);
  }

  /** What a request is checked against now: every limit that holds, with its parents. */
  itemsOf({ steps }: Target, subject: Uint8Array, cost: number, nowMs: number, lease?: string): Item[] {
    const items: Item[] = [];
    for (const { limit, depth } of steps) {
      if (!limit.isEnabled || nowMs < limit.startsMs || nowMs >= limit.endsMs) continue;
      items.push(itemOf(limit, parentOf(subject, depth), cost, nowMs, nameOfLease(subject, lease)));
    }
    return items;
  }

  /** The limit of this name alone, whether it holds now or not; undefined where there is none. */
  itemOfName(name: string, subject: Uint8Array, nowMs: number): Item | undefined {
    const own = this.targets.get(name)?.steps.find(({ limit, depth }) => limit.name === name && depth === 0);
    return own && itemOf(own.limit, subject, 0, nowMs, undefined);
  }

  /** The leases that a request may have taken, also of limits that do not hold any more. */
  leasesOf({ steps }: Target, subject: Uint8Array, nowMs: number, lease: string): Item[] {
    const name = nameOfLease(subject, lease);
    const leases = steps.filter(({ limit }) => limit.kind === 'concurrency');
    return leases.map(({ limit, depth }) => itemOf(limit, parentOf(subject, depth), 1, nowMs, name));
  }
}

/** The subject without its last parts; empty where it has no more. */
function parentOf(subject: Uint8Array, depth: number): Uint8Array {
  let end = subject.length;
  for (let level = 0; level < depth; level++) end = Math.max(subject.lastIndexOf(SLASH, end - 1), 0);
  return end === subject.length ? subject : subject.subarray(0, end);
}

/** Leases of several subjects are held under one parent: each has the subject of its request in its name. */
function nameOfLease(subject: Uint8Array, lease: string | undefined): string | undefined {
  return lease === undefined ? undefined : `${Buffer.from(subject).toString('latin1')}\0${lease}`;
}

function itemOf(
  compiled: CompiledLimit,
  subject: Uint8Array,
  cost: number,
  nowMs: number,
  lease: string | undefined,
): Item {
  const { name, kind, shadow, rule, burst } = compiled;
  const window = windowAt(rule, nowMs);
  const found = limitOf(rule, subject, window);
  const limit = found >= UNLIMITED ? Number.POSITIVE_INFINITY : found;
  const common = { name, kind, subject, cost, shadow };
  if (kind === 'concurrency') return { ...common, cost: Math.min(cost, 1), limit, windowMs: 0, lease };
  if (kind === 'bucket') {
    // One that gets nothing, or has no limit, is so whatever it could hold.
    const isBounded = limit > 0 && limit < Number.POSITIVE_INFINITY;
    return { ...common, limit: (isBounded ? burst : undefined) ?? limit, refill: limit, windowMs: rule.windowMs };
  }
  if (kind !== 'fixed' || rule.calendar === undefined) return { ...common, limit, windowMs: rule.windowMs };
  const startMs = windowStartMs(rule, window);
  return { ...common, limit, startMs, windowMs: windowEndMs(rule, window) - startMs };
}

/** A parent that several limits of a domain share at the same level is checked once. */
function stepsOf(
  entries: readonly LimitEntry[],
  byName: ReadonlyMap<string, LimitEntry>,
  compiled: ReadonlyMap<string, CompiledLimit>,
): Target['steps'] {
  const steps = new Map<string, Target['steps'][number]>();
  for (const entry of entries)
    for (const [depth, { name }] of (chainOf(entry, byName) ?? []).entries())
      steps.set(`${depth} ${name}`, { limit: compiled.get(name) as CompiledLimit, depth });
  return [...steps.values()];
}

function compile(entry: LimitEntry, catalogue: Catalogue): CompiledLimit {
  const { name, kind, limit, enabled = true, shadow = false, starts, ends, burst } = entry;
  const overrides = settledOverrides(entry, catalogue.plans);
  const window = kind === 'concurrency' ? { windowMs: 0 } : knownWindow(entry);
  const rule = { name, limit: numberOf(limit), ...window, ...(overrides.length > 0 && { overrides }) };
  return {
    name,
    kind,
    isEnabled: enabled,
    startsMs: starts === undefined ? Number.NEGATIVE_INFINITY : Date.parse(starts),
    endsMs: ends === undefined ? Number.POSITIVE_INFINITY : Date.parse(ends),
    shadow,
    burst,
    rule: { ...rule, allocator: '', shares: [], waitMs: 0, number: 0, definedMs: 0, starters: [] },
  };
}
