import { type Etcd, EtcdRefused, EtcdUnreachable, type Fence, type KeyValue } from '@quotadb/cluster/etcd';
import type { Random } from '@quotadb/engine/testing';
import type { Scheduler } from '../world/scheduler.js';
import type { SimulatedEtcd } from './etcd.js';
import type { ProcessTime } from './process-time.js';

export interface EtcdClientOptions {
  readonly etcd: SimulatedEtcd;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly time: ProcessTime;
  /** As in a gateway: an attempt without an answer ends after this. */
  readonly attemptMs: number;
  /** Before every call. */
  readonly asking: () => void;
}

/** As in a gateway, where etcd has one member. */
const ATTEMPTS = 2;
/** How long after it was given up a call may still be carried out. */
const LATEST_MS = 6000;
const FAULTS = ['refused', 'lost', 'answerLost', 'late'] as const;

/** One process's way to etcd, with the faults of the network in between. What a dead process has sent still arrives. */
export class SimulatedEtcdClient implements Etcd {
  /** Nothing passes. */
  isCut = false;
  private readonly options: EtcdClientOptions;

  constructor(options: EtcdClientOptions) {
    this.options = options;
  }

  async get(key: string) {
    return (await this.call((etcd) => etcd.get(key))).value;
  }

  async list(prefix: string) {
    return (await this.call((etcd) => etcd.list(prefix))).value;
  }

  async change(fences: readonly Fence[], key: string, value: string | undefined, lease?: string) {
    const answer = await this.call((etcd) => etcd.change(fences, key, value, lease));
    return { ...answer.value, mayHaveRunBefore: answer.mayHaveRunBefore };
  }

  async grantLease(seconds: number) {
    return (await this.call((etcd) => etcd.grantLease(seconds))).value;
  }

  async keepLease(id: string) {
    return (await this.call((etcd) => etcd.keepLease(id))).value;
  }

  async revokeLease(id: string): Promise<void> {
    await this.call((etcd) => etcd.revokeLease(id));
  }

  async watch(key: string, fromRevision: number, reported: (found: KeyValue) => void) {
    const { etcd, time, random, scheduler } = this.options;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = () => {
        stop();
        scheduler.settled();
        resolve();
      };
    });
    let lastMs = 0;
    let isSilent = false;
    const later = (run: () => void): void => {
      lastMs = Math.max(lastMs, scheduler.nowMs + random.next() * etcd.faults.lagMs);
      time.after(lastMs - scheduler.nowMs, () => {
        // The rest is lost, and the stream does not say so.
        if (this.isCut) isSilent = true;
        if (!isSilent) run();
      });
    };
    let stop: () => void = () => undefined;
    stop = etcd.watch(fromRevision, {
      key,
      reported: (found) => later(() => reported(found)),
      broken: () => later(() => end()),
    });
    return { ended, close: () => end() };
  }

  preferAnother(): void {}
  close(): void {}

  private async call<Answer>(
    work: (etcd: SimulatedEtcd) => Answer,
  ): Promise<{ readonly value: Answer; readonly mayHaveRunBefore: boolean }> {
    this.options.asking();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        return { value: await this.attempt(work), mayHaveRunBefore: attempt > 0 };
      } catch (error) {
        if (error instanceof EtcdRefused) throw error;
      }
    }
    throw new EtcdUnreachable('etcd is not reachable');
  }

  private attempt<Answer>(work: (etcd: SimulatedEtcd) => Answer): Promise<Answer> {
    const { etcd, time, random, scheduler, attemptMs } = this.options;
    const fault = random.chance(etcd.faults.failure) ? random.pick(FAULTS) : undefined;
    const delay = () => 0.5 + random.next() * 2;
    const lateMs = fault === 'late' ? attemptMs + random.next() * LATEST_MS : 0;
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new EtcdUnreachable('has not answered'));
      time.after(fault === 'refused' ? delay() : attemptMs, giveUp);
      if (fault === 'refused' || fault === 'lost') return;
      scheduler.after(delay() + lateMs, () => {
        if (this.isCut) return;
        const answer = carryOut(() => work(etcd));
        if (fault === undefined)
          time.after(delay(), () => {
            if (!this.isCut) answer(resolve, reject);
          });
      });
    });
  }
}

function carryOut<Answer>(work: () => Answer) {
  try {
    const value = work();
    return (resolve: (value: Answer) => void) => resolve(value);
  } catch (error) {
    return (_: unknown, reject: (error: unknown) => void) => reject(error);
  }
}
