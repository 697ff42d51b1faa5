import { Status } from '../keys/status.js';
import { INT64_MAX, INT64_MIN } from '../memory/int64.js';

/** The wheel works in ticks of this length: an expired key may be counted that much longer. */
const TICK_MS = 64;

interface Entry {
  value: bigint;
  expiresAtMs: number;
}

/** What one node without peers must do, in a Map: the engine is held against it. */
export class PlainModel {
  private readonly entries = new Map<string, Entry>();
  private readonly graceMs: number;
  private readonly growOnlyPrefixes: readonly string[];
  nowMs: number;

  constructor(nowMs: number, graceMs: number, growOnlyPrefixes: readonly string[]) {
    this.nowMs = nowMs;
    this.graceMs = graceMs;
    this.growOnlyPrefixes = growOnlyPrefixes;
  }

  private isOver(entry: Entry): boolean {
    return entry.expiresAtMs !== 0 && entry.expiresAtMs <= this.nowMs;
  }

  private visible(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    return entry === undefined || this.isOver(entry) ? undefined : entry;
  }

  private isGrowOnly(key: string): boolean {
    return this.growOnlyPrefixes.some((prefix) => key.startsWith(prefix));
  }

  read(key: string): { exists: boolean; value: bigint; expiresAtMs: number } {
    const entry = this.visible(key);
    if (entry === undefined) return { exists: false, value: 0n, expiresAtMs: 0 };
    return { exists: true, value: entry.value, expiresAtMs: entry.expiresAtMs };
  }

  add(key: string, amount: bigint): Status {
    const entry = this.visible(key) ?? { value: 0n, expiresAtMs: 0 };
    const value = entry.value + amount;
    if (value > INT64_MAX || value < INT64_MIN) return Status.Overflow;
    if (amount < 0n && this.isGrowOnly(key)) return Status.GrowOnly;
    if (key.length > 65536) return Status.KeyTooLong;
    this.entries.set(key, { value, expiresAtMs: entry.expiresAtMs });
    return Status.Ok;
  }

  assign(key: string, value: bigint, keepExpiry: boolean): Status {
    if (this.isGrowOnly(key)) return Status.GrowOnly;
    if (key.length > 65536) return Status.KeyTooLong;
    const expiresAtMs = keepExpiry ? (this.visible(key)?.expiresAtMs ?? 0) : 0;
    this.entries.set(key, { value, expiresAtMs });
    return Status.Ok;
  }

  remove(key: string): Status {
    if (this.visible(key) === undefined) return Status.Ok;
    if (this.isGrowOnly(key)) return Status.GrowOnly;
    this.entries.delete(key);
    return Status.Ok;
  }

  expireAt(key: string, atMs: number): Status {
    const entry = this.visible(key);
    if (entry === undefined) return Status.Ok;
    if (atMs <= this.nowMs) return this.remove(key);
    entry.expiresAtMs = atMs;
    return Status.Ok;
  }

  persist(key: string): Status {
    const entry = this.visible(key);
    if (entry !== undefined) entry.expiresAtMs = 0;
    return Status.Ok;
  }

  advanceTo(nowMs: number): void {
    this.nowMs = Math.max(this.nowMs, Math.floor(nowMs));
  }

  removeAll(): void {
    for (const key of this.visibleKeys()) if (!this.isGrowOnly(key)) this.entries.delete(key);
  }

  /** After the wheel has done all it can: what has been over for a tick and the grace is surely gone. */
  dropOver(): void {
    for (const [key, entry] of this.entries) {
      if (this.isOver(entry) && entry.expiresAtMs + this.graceMs + TICK_MS <= this.nowMs) this.entries.delete(key);
    }
  }

  visibleKeys(): string[] {
    return [...this.entries].filter(([, entry]) => !this.isOver(entry)).map(([key]) => key);
  }

  /** The key count may lie between these: expired keys are counted until the wheel drops them. */
  countBounds(): { least: number; most: number } {
    return { least: this.visibleKeys().length, most: this.entries.size };
  }
}
