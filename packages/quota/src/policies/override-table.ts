import { type Override, type Policy, windowStartMs } from './policy.js';

/** One limit of a subject or a pattern, from a time on. */
interface Step {
  readonly fromMs: number;
  readonly limit: number;
}

interface OverrideEntry {
  readonly bytes: Uint8Array;
  /** The latest first. */
  readonly steps: readonly Step[];
  readonly next: OverrideEntry | undefined;
}

interface ExtraEntry {
  readonly bytes: Uint8Array;
  readonly window: number;
  readonly amount: number;
  readonly next: ExtraEntry | undefined;
}

const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const MASK = 0x3fffffff;
const tables = new WeakMap<Policy, OverrideTable>();

/**
 * The limit of an allotment: the policy's, or that of the most exact override that holds in the window, and the extra
 * tokens of the subject. Everything that decides by a limit asks here. It allocates nothing, and a policy without
 * overrides pays nothing. The subject may lie anywhere in the bytes.
 */
export function limitOf(
  policy: Policy,
  subject: Uint8Array,
  window: number,
  start = 0,
  length: number = subject.length,
): number {
  if (policy.overrides === undefined && policy.extras === undefined) return policy.limit;
  let table = tables.get(policy);
  if (table === undefined) {
    table = new OverrideTable(policy);
    tables.set(policy, table);
  }
  return table.limitOf(subject, start, length, window);
}

/** The overrides and extras of one version of a policy, by the hashes of subjects and of the beginnings of subjects. */
class OverrideTable {
  private readonly policy: Policy;
  private readonly exact = new Map<number, OverrideEntry>();
  private readonly prefixes = new Map<number, OverrideEntry>();
  /** By length: whether there is a pattern with that number of bytes before its `*`. */
  private readonly prefixLengths: readonly boolean[];
  private readonly extras = new Map<number, ExtraEntry>();

  constructor(policy: Policy) {
    this.policy = policy;
    const bySubject = new Map<string, Override[]>();
    for (const override of policy.overrides ?? [])
      bySubject.set(override.subject, [...(bySubject.get(override.subject) ?? []), override]);
    const lengths: boolean[] = [];
    for (const [subject, overrides] of bySubject) {
      const isPattern = subject.endsWith('*');
      const bytes = Uint8Array.from(Buffer.from(isPattern ? subject.slice(0, -1) : subject));
      const steps = overrides
        .map(({ fromMs, limit }) => ({ fromMs: fromMs ?? Number.NEGATIVE_INFINITY, limit }))
        .sort((one, other) => other.fromMs - one.fromMs);
      const entries = isPattern ? this.prefixes : this.exact;
      const hash = hashOf(bytes);
      entries.set(hash, { bytes, steps, next: entries.get(hash) });
      if (isPattern) lengths[bytes.length] = true;
    }
    this.prefixLengths = Array.from(lengths, (isThere) => isThere === true);
    for (const { subject, window, amount } of policy.extras ?? []) {
      const bytes = Uint8Array.from(Buffer.from(subject, 'latin1'));
      const hash = hashOf(bytes);
      this.extras.set(hash, { bytes, window, amount, next: this.extras.get(hash) });
    }
  }

  limitOf(bytes: Uint8Array, start: number, length: number, window: number): number {
    const { prefixLengths } = this;
    const startMs = windowStartMs(this.policy, window);
    let { limit } = this.policy;
    let hash = SEED;
    for (let index = 0; index < length; index++) {
      if (prefixLengths[index] === true) limit = find(this.prefixes, hash, bytes, start, index, startMs) ?? limit;
      hash = Math.imul(hash ^ bytes[start + index], PRIME);
    }
    if (prefixLengths[length] === true) limit = find(this.prefixes, hash, bytes, start, length, startMs) ?? limit;
    limit = find(this.exact, hash, bytes, start, length, startMs) ?? limit;
    for (let entry = this.extras.get(hash & MASK); entry !== undefined; entry = entry.next)
      if (entry.window === window && isSame(entry.bytes, bytes, start, length)) limit += entry.amount;
    return limit;
  }
}

/** The limit of these bytes that holds in a window from this time; undefined where there is none. */
function find(
  entries: ReadonlyMap<number, OverrideEntry>,
  hash: number,
  bytes: Uint8Array,
  start: number,
  length: number,
  startMs: number,
): number | undefined {
  for (let entry = entries.get(hash & MASK); entry !== undefined; entry = entry.next) {
    if (!isSame(entry.bytes, bytes, start, length)) continue;
    for (const { fromMs, limit } of entry.steps) if (fromMs <= startMs) return limit;
  }
  return undefined;
}

/** FNV-1a, in 30 bits, so that the number needs no memory. */
function hashOf(bytes: Uint8Array): number {
  let hash = SEED;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, PRIME);
  return hash & MASK;
}

function isSame(own: Uint8Array, bytes: Uint8Array, start: number, length: number): boolean {
  if (own.length !== length) return false;
  for (let index = 0; index < length; index++) if (own[index] !== bytes[start + index]) return false;
  return true;
}
