import { PendingRemint, type PolicyBook, PolicyError, REMINT_TIMEOUT_MS } from '@quotadb/quota';
import { CLUSTER, type NodeProcess } from '../world/process.js';

interface Remint {
  readonly name: string;
  readonly pending: PendingRemint;
  readonly untilMs: number;
  readonly done: (refused: PolicyError | undefined) => void;
}

/** The re-mints that an operator has asked the home for, and that wait until all regions agree; as in a server. */
export class Remints {
  private readonly process: NodeProcess;
  private readonly book: PolicyBook;
  private readonly reachable: () => Iterable<string>;
  private readonly waiting = new Set<Remint>();

  constructor(process: NodeProcess, book: PolicyBook, reachable: () => Iterable<string>) {
    this.process = process;
    this.book = book;
    this.reachable = reachable;
  }

  /** `done` gets a PolicyError where it is refused, at once or because the regions do not agree in time. */
  ask(name: string, regions: readonly string[], done: (refused: PolicyError | undefined) => void): void {
    const { engine, replica, region, disk, node } = this.process;
    const pending = new PendingRemint({
      view: () => {
        const compare = (origins: readonly Uint8Array[]) => replica.antiEntropy.comparison.compare(origins);
        const members = replica.members.values();
        return { engine, cluster: CLUSTER, region, members, reachable: this.reachable(), compare };
      },
      policy: () => {
        const policy = this.book.named(name);
        if (policy === undefined) throw new PolicyError(`${name} was dropped`);
        return policy;
      },
      regions,
      flush: async () => {
        node.cluster.scheduler.settled();
        await disk?.flush();
      },
    });
    const remint = { name, pending, untilMs: this.process.monotonicMs() + REMINT_TIMEOUT_MS, done };
    // At once: the operator did not mean an incarnation that is lost only later.
    const refused = this.attempt(remint);
    if (refused === 'waits') this.waiting.add(remint);
    else done(refused);
  }

  /** True where the policies have changed. */
  tick(): boolean {
    let isChanged = false;
    for (const remint of [...this.waiting]) {
      const refused = this.attempt(remint);
      if (refused === 'waits') continue;
      this.waiting.delete(remint);
      remint.done(refused);
      if (refused === undefined) isChanged = true;
    }
    return isChanged;
  }

  private attempt({ name, pending, untilMs }: Remint): PolicyError | undefined | 'waits' {
    try {
      const lost = pending.find();
      if (lost !== undefined) this.book.remint(name, lost, this.process.engine.nowMs);
      else return this.process.monotonicMs() < untilMs ? 'waits' : new PolicyError(pending.reason);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      return error;
    }
    return undefined;
  }
}
