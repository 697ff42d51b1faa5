import { Code, EtcdRefused } from './errors.js';
import type { Etcd } from './etcd-client.js';
import { type Clocks, Lease } from './lease.js';

/** How often a lease is kept alive in its life: two answers may be lost. */
const PARTS = 3;
/** After a failure: etcd may be back soon. */
const AGAIN_MS = 500;
/** The first one may name a state that is gone, and the second be an attempt of the first that came late. */
const PUT_ATTEMPTS = 4;

export interface LeaseKeeperOptions {
  readonly client: Etcd;
  readonly seconds: number;
  readonly clocks: Clocks;
  /** With the reason when etcd could not be asked, without when it has answered. */
  readonly troubled: (reason: string | undefined) => void;
}

/**
 * Holds one lease, from its first use on, and the keys that are to be there for as long as this process is. When the
 * lease is lost another one is granted, and all keys are put again.
 */
export class LeaseKeeper {
  private readonly options: LeaseKeeperOptions;
  private lease: Lease | undefined = undefined;
  /** The values that keys are to have. */
  private readonly wanted = new Map<string, string>();
  /** Those that they have under the lease. */
  private readonly held = new Map<string, string>();
  /** The revisions of etcd at which keys were last put, by whomever. */
  private readonly known = new Map<string, number>();
  private callOff: () => void = () => undefined;
  /** One piece of work after another: an older value never takes the place of a newer one. */
  private work: Promise<unknown> = Promise.resolve();
  private isStopped = false;

  constructor(options: LeaseKeeperOptions) {
    this.options = options;
  }

  /** A lease that lives. */
  current(): Promise<Lease> {
    return this.after(() => this.obtain());
  }

  /** Resolves when etcd has it. Where etcd cannot be asked it rejects, and the key is put as soon as it can be. */
  put(key: string, value: string): Promise<void> {
    this.wanted.set(key, value);
    return this.after(async () => {
      await this.obtain();
      await this.putWanted();
    });
  }

  /** Keys and locks of the lease are gone when it resolves, or when etcd next finds the lease too old. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.callOff();
    const { lease } = this;
    if (lease === undefined) return;
    lease.lose();
    await this.options.client.revokeLease(lease.id).catch(() => undefined);
  }

  private after<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.work.then(run);
    this.work = result.catch(() => undefined);
    return result;
  }

  private async obtain(): Promise<Lease> {
    if (this.isStopped) throw new Error('the store of the map is stopped');
    if (this.lease?.isAlive) return this.lease;
    const { client, seconds, clocks } = this.options;
    this.forget();
    const asked = { monotonicMs: clocks.monotonicMs(), wallMs: clocks.wallMs() };
    this.plan(AGAIN_MS);
    const granted = await client.grantLease(seconds);
    const lease = new Lease(granted.id, clocks);
    lease.extend(granted.seconds, asked);
    this.lease = lease;
    this.plan((granted.seconds * 1000) / PARTS);
    return lease;
  }

  private forget(): void {
    this.lease?.lose();
    this.lease = undefined;
    this.held.clear();
  }

  private async putWanted(): Promise<void> {
    for (const [key, value] of this.wanted) {
      if (this.held.get(key) === value) continue;
      try {
        await this.putOne(key, value, (this.lease as Lease).id);
      } catch (error) {
        // The lease has ended on the other side: with the next round there is another one.
        if (error instanceof EtcdRefused && error.code === Code.notFound) this.forget();
        this.plan(AGAIN_MS);
        throw error;
      }
      this.held.set(key, value);
    }
  }

  /**
   * A put that was given up may be carried out later, after a newer one or under a lease that has ended here: each
   * names the state that it replaces, so that it does nothing then.
   */
  private async putOne(key: string, value: string, lease: string): Promise<void> {
    const { client } = this.options;
    for (let attempt = 0; attempt < PUT_ATTEMPTS; attempt++) {
      const revision = this.known.get(key) ?? 0;
      const result = await client.change([{ key, field: 'mod_revision', revision }], key, value, lease);
      this.known.set(key, result.isDone ? result.revision : (result.found?.mod_revision ?? 0));
      if (result.isDone) return;
    }
    throw new Error(`another process puts ${key} too`);
  }

  private plan(afterMs: number): void {
    this.callOff();
    if (!this.isStopped) this.callOff = this.options.clocks.after(afterMs, () => void this.after(() => this.keep()));
  }

  private async keep(): Promise<void> {
    const { troubled } = this.options;
    try {
      await this.extend();
      await this.obtain();
      await this.putWanted();
      troubled(undefined);
    } catch (error) {
      if (this.isStopped) return;
      this.plan(AGAIN_MS);
      troubled((error as Error).message);
    }
  }

  private async extend(): Promise<void> {
    const { client, clocks } = this.options;
    const { lease } = this;
    if (lease === undefined) return;
    const asked = { monotonicMs: clocks.monotonicMs(), wallMs: clocks.wallMs() };
    const { seconds, revision = Number.POSITIVE_INFINITY } = await client.keepLease(lease.id);
    if (seconds === 0) return this.forget();
    // Restored from a backup, which may have the lease, and the keys as they were then.
    if (revision < Math.max(...this.known.values())) this.held.clear();
    lease.extend(seconds, asked);
    this.plan((seconds * 1000) / PARTS);
  }
}
