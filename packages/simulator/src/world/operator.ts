import { Engine } from '@quotadb/engine';
import { repair } from '@quotadb/storage';
import type { Cluster } from './cluster.js';
import { DIRECTORY, NO_NOTES } from './disk.js';
import type { SimulatedNode } from './node.js';
import type { Plan } from './plan.js';
import type { NodeProcess } from './process.js';

/** Does what the logs and docs/durability.md ask an operator to do. */
export class Operator<AnyPlan extends Plan<string>> {
  private readonly cluster: Cluster<AnyPlan>;

  constructor(cluster: Cluster<AnyPlan>) {
    this.cluster = cluster;
  }

  /** The log of a server asks for a restart with a clock that is right: its time is far ahead of that of its peers. */
  restartWithRightClock(process: NodeProcess): void {
    const { cluster } = this;
    const { node } = process;
    cluster.scheduler.after(cluster.plan.redialMs, () => {
      if (process.isOver) return;
      if (node.leapMs !== 0) {
        this.restartWithRightClock(process);
        return;
      }
      cluster.said(`${process.label} is restarted, as its time is ahead of its peers'`);
      cluster.endProcess(node, true);
      if (node.disk === undefined) cluster.loseState(node);
      else node.disk.killProcess();
      node.start();
    });
  }

  /** A start was refused because files, or the end of one, are missing. */
  repair(node: SimulatedNode): void {
    const { cluster } = this;
    cluster.scheduler.settled();
    node.isRepaired = false;
    this.salvage(node).then(
      (lossesTotal) => {
        cluster.said(`the disk of ${node.region} is repaired: ${lossesTotal} losses`);
        if (lossesTotal === 0) cluster.failed(`a repair of the disk of ${node.region} found no loss`);
        node.isRepaired = true;
        node.isDamaged = false;
        cluster.doubt(node);
        node.startUnlessUp();
      },
      (error: Error) => {
        cluster.said(`no repair of ${node.region}: ${error.message}`);
        cluster.scheduler.after(cluster.plan.redialMs, () => this.repair(node));
      },
    );
  }

  private async salvage(node: SimulatedNode): Promise<number> {
    const { plan, memoryBytes } = this.cluster;
    const { disk, origin } = node;
    if (disk === undefined) return 0;
    const nowMs = node.wallMs();
    const engine = Engine.format({ maxMemoryBytes: memoryBytes, origin, nowMs, shardCount: plan.shardCount });
    const expectsManifest = disk.notes.hasManifest;
    const fileSystem = disk.fileSystem(() => true);
    const { losses } = await repair({ directory: DIRECTORY, engine, nowMs, expectsManifest, fileSystem });
    disk.notes = { ...NO_NOTES };
    return losses.length;
  }
}
