import type { Cluster } from '../world/cluster.js';
import type { NodeProcess } from '../world/process.js';
import { type MoveMember, memberOf } from './move-member.js';
import type { MovePlan } from './plan.js';

/** Between two tries of a request that does not get through. */
const RETRY_MS = 20;
/** A request that its caller has given up may still arrive. */
export const LATEST_MS = 10_000;
/** Quick ones are rarely late, so that a batch gets through now and then. */
const QUICK_SHARE = 0.1;

/** Calls between members of all groups, over the network that replication uses too. */
export class MemberCalls {
  isCalm = false;
  private readonly cluster: Cluster<MovePlan>;
  private readonly lateness: number;

  constructor(cluster: Cluster<MovePlan>, lateness: number) {
    this.cluster = cluster;
    this.lateness = lateness;
  }

  call<Answer>(
    from: NodeProcess,
    to: string,
    patienceMs: number,
    work: (member: MoveMember) => Promise<Answer> | Answer,
    isQuick = false,
  ): Promise<Answer> {
    const lateness = isQuick ? this.lateness * QUICK_SHARE : this.lateness;
    const caller = memberOf(from);
    return new Promise((resolve, reject) => {
      caller.after(patienceMs, () => reject(new Error(`${to} has not answered`)));
      const answered = (finish: () => void): void =>
        this.carry(to, from.region, this.delayMs(lateness), () => caller.after(0, finish));
      this.carry(from.region, to, this.delayMs(lateness), () => {
        const process = this.cluster.running().find(({ region }) => region === to);
        if (process === undefined) return answered(() => reject(new Error(`${to} is away`)));
        memberOf(process).after(0, () => {
          this.cluster.scheduler.settled();
          new Promise<Answer>((done) => done(work(memberOf(process)))).then(
            (answer) => answered(() => resolve(answer)),
            (error: Error) => answered(() => reject(error)),
          );
        });
      });
    });
  }

  private carry(from: string, to: string, delayMs: number, arrived: () => void): void {
    const { scheduler, network } = this.cluster;
    const arrive = (): void => {
      if (network.isCut(from, to)) scheduler.after(RETRY_MS, arrive);
      else arrived();
    };
    scheduler.after(delayMs, arrive);
  }

  private delayMs(lateness: number): number {
    const { random, plan } = this.cluster;
    if (!this.isCalm && random.chance(lateness)) return random.next() * random.pick([LATEST_MS / 4, LATEST_MS]);
    return plan.network.delayMs + random.next() * plan.network.jitterMs;
  }
}
