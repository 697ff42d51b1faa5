import { expect } from 'vitest';
import type { CountError } from '../domain/count-error.js';
import type { CountsService } from '../service.js';

const CALLERS = 40;

/** Increases by one of one count, from many callers of some instances, until stopped; and what became of them. */
export class Load {
  readonly itemId: string;
  applied = 0;
  refused = 0;
  /** The keys of changes whose outcome is unknown. */
  readonly unknown: (string | undefined)[] = [];
  /** The longest time between two changes that were applied. */
  longestGapMs = 0;
  readonly #services: readonly CountsService[];
  readonly #keyed: boolean;
  readonly #callers: Promise<void>[];
  #lastAppliedAtMs = performance.now();
  #isRunning = true;
  #sent = 0;

  constructor(services: readonly CountsService[], itemId: string, keyed: boolean) {
    this.itemId = itemId;
    this.#services = services;
    this.#keyed = keyed;
    this.#callers = Array.from({ length: CALLERS }, (_, caller) => this.#callOn(services[caller % services.length]!));
  }

  /** Ends the callers, each with the answer to its last call. With keys, changes of unknown outcome are sent again. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#callers);
    if (!this.#keyed) return;
    for (const key of this.unknown.splice(0)) await this.#increase(this.#services[0]!, key);
  }

  /** Every answered change is stored once, and no refused one; of those with an unknown outcome, some. */
  expectStored(value: number): void {
    expect(value, this.itemId).toBeGreaterThanOrEqual(this.applied);
    expect(value, this.itemId).toBeLessThanOrEqual(this.applied + this.unknown.length);
    if (this.#keyed) expect(this.unknown).toEqual([]);
  }

  async #callOn(service: CountsService): Promise<void> {
    while (this.#isRunning) await this.#increase(service, this.#keyed ? `${this.itemId}-${this.#sent++}` : undefined);
  }

  async #increase(service: CountsService, key: string | undefined): Promise<void> {
    try {
      await service.api.external.increase(this.itemId, 1n, key);
      const nowMs = performance.now();
      this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#lastAppliedAtMs);
      this.#lastAppliedAtMs = nowMs;
      this.applied++;
    } catch (error) {
      const { code } = error as CountError;
      if (code === 'outcome_unknown') this.unknown.push(key);
      else if (code === 'database_unavailable') this.refused++;
      else throw error;
    }
  }
}
