/**
 * The identifiers with the most decisions on rate limits or quotas: a bounded list, made from a sample.
 *
 *   every decision   | one subtraction, no allocation
 *   every n-th       | the identifier goes into a Space-Saving list of CAPACITY, with the weight n
 *
 * n is 1 while there are few decisions, so that a quiet server samples all of them, and doubles with every
 * SAMPLES_PER_STEP samples of a window: even the busiest server takes only hundreds of samples a second. The steps
 * between two samples are random around n: a client that cycles through its keys would otherwise be sampled at one of
 * them only.
 *
 * An identifier with more than 1/CAPACITY of all decisions is in the list. The weight that a newcomer inherits from the
 * entry that it replaces is left out of its figures, so these are too high only by chance of the sample. They are of
 * the last WINDOW_MS: the current window, and the part of the window before that lies within that time.
 */
const CAPACITY = 256;
const SAMPLES_PER_STEP = 2048;
const WINDOW_MS = 10_000;
/** The shortest time span of a rate: the first decision after a start is not a thousand a second. */
const LEAST_SPAN_MS = 1000;
/** Longer identifiers are cut: the list must not hold megabytes. */
const MAXIMUM_BYTES = 256;

/** The rates of an identifier: plain data, sent between threads. */
export interface HotIdentifier {
  /** The number of the quota that the identifier belongs to; 0 for rate limits. */
  readonly scope: number;
  /** A character for each byte. */
  readonly identifier: string;
  readonly allowedPerSecond: number;
  readonly deniedPerSecond: number;
}

interface Entry {
  readonly name: string;
  readonly scope: number;
  readonly identifier: string;
  allowed: number;
  denied: number;
  /** The weight of the entry that it replaced. */
  inherited: number;
}

type Window = Map<string, Entry>;

export class HotIdentifiers {
  static readonly CAPACITY = CAPACITY;
  static readonly WINDOW_MS = WINDOW_MS;

  private readonly nowMs: () => number;
  private readonly random: () => number;
  private untilSample = 1;
  private weight = 1;
  private samples = 0;
  private startedAtMs = Number.NEGATIVE_INFINITY;
  /** When the first decision came after a pause of two windows. */
  private beganAtMs = 0;
  private current: Window = new Map();
  private previous: Window = new Map();

  constructor(nowMs: () => number, random: () => number = Math.random) {
    this.nowMs = nowMs;
    this.random = random;
  }

  note(scope: number, bytes: Uint8Array, start: number, length: number, isAllowed: boolean): void {
    if (--this.untilSample > 0) return;
    this.sample(scope, bytes, start, length, isAllowed);
  }

  /** The hottest first. */
  list(): HotIdentifier[] {
    const nowMs = this.nowMs();
    this.turn(nowMs);
    const staying = Math.max(0, 1 - (nowMs - this.startedAtMs) / WINDOW_MS);
    const spanMs = Math.min(Math.max(nowMs - this.beganAtMs, LEAST_SPAN_MS), WINDOW_MS);
    const rates = (window: Window, share: number): HotIdentifier[] =>
      [...window.values()].map(({ scope, identifier, allowed, denied, inherited }) => {
        const own = (allowed + denied - inherited) / (allowed + denied);
        const perSecond = (own * share * 1000) / spanMs;
        return { scope, identifier, allowedPerSecond: allowed * perSecond, deniedPerSecond: denied * perSecond };
      });
    return mergeHottest([rates(this.previous, staying), rates(this.current, 1)], Number.POSITIVE_INFINITY);
  }

  private sample(scope: number, bytes: Uint8Array, start: number, length: number, isAllowed: boolean): void {
    this.turn(this.nowMs());
    const { weight } = this;
    const end = start + Math.min(length, MAXIMUM_BYTES);
    const identifier = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
    const entry = this.entryOf(`${scope}:${identifier}`, scope, identifier);
    if (isAllowed) entry.allowed += weight;
    else entry.denied += weight;
    if (++this.samples >= SAMPLES_PER_STEP) {
      this.samples = 0;
      this.weight *= 2;
    }
    // From 1 to twice the weight less one: the weight on average.
    this.untilSample = 1 + Math.floor(this.random() * (2 * this.weight - 1));
  }

  private entryOf(name: string, scope: number, identifier: string): Entry {
    const { current } = this;
    const known = current.get(name);
    if (known !== undefined) return known;
    const entry: Entry = { name, scope, identifier, allowed: 0, denied: 0, inherited: 0 };
    if (current.size >= CAPACITY) this.replaceColdest(entry);
    current.set(name, entry);
    return entry;
  }

  /** The newcomer inherits the weight of the coldest, or two alternating ones would replace each other forever. */
  private replaceColdest(newcomer: Entry): void {
    let coldest: Entry | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const entry of this.current.values()) {
      if (entry.allowed + entry.denied >= least) continue;
      least = entry.allowed + entry.denied;
      coldest = entry;
    }
    if (coldest !== undefined) this.current.delete(coldest.name);
    newcomer.allowed = least;
    newcomer.inherited = least;
  }

  private turn(nowMs: number): void {
    const passedMs = nowMs - this.startedAtMs;
    if (passedMs < WINDOW_MS) return;
    const isNext = passedMs < 2 * WINDOW_MS;
    if (!isNext) this.beganAtMs = nowMs;
    this.previous = isNext ? this.current : new Map();
    this.current = new Map();
    this.startedAtMs = isNext ? this.startedAtMs + WINDOW_MS : nowMs;
    // Halved: a busy server soon doubles it again, and a server that has become quiet soon samples every decision.
    this.weight = isNext ? Math.max(1, this.weight / 2) : 1;
    this.samples = 0;
  }
}

/** Adds up several lists; the hottest first, and at most `most`. */
export function mergeHottest(lists: readonly (readonly HotIdentifier[])[], most: number): HotIdentifier[] {
  const merged = new Map<string, HotIdentifier>();
  for (const hot of lists.flat()) {
    const name = `${hot.scope}:${hot.identifier}`;
    const before = merged.get(name);
    merged.set(name, {
      ...hot,
      allowedPerSecond: hot.allowedPerSecond + (before?.allowedPerSecond ?? 0),
      deniedPerSecond: hot.deniedPerSecond + (before?.deniedPerSecond ?? 0),
    });
  }
  return [...merged.values()].sort((one, other) => totalOf(other) - totalOf(one)).slice(0, most);
}

function totalOf({ allowedPerSecond, deniedPerSecond }: HotIdentifier): number {
  return allowedPerSecond + deniedPerSecond;
}
