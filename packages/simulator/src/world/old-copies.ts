import type { Random } from '@quotadb/engine/testing';
import { type KeptStart, type OldCopyProof, released, withPresent } from '@quotadb/replication';
import type { LogPlace } from '@quotadb/storage';
import type { Cluster } from './cluster.js';
import type { SimulatedDisk } from './disk.js';
import type { Plan } from './plan.js';
import type { NodeProcess } from './process.js';

/** The starts of a process's incarnation, on its disk: as StartKeeper of a server. */
export class ProcessStarts {
  readonly starts: readonly KeptStart<LogPlace>[];
  private readonly process: NodeProcess;

  /** Before the first change. */
  constructor(process: NodeProcess, place: LogPlace, isNewIncarnation: boolean) {
    this.process = process;
    const { node, engine, clock } = process;
    const { notes } = node.disk as SimulatedDisk;
    const versions = Array.from({ length: engine.shardCount }, (_, shard) => process.ownSequence(shard));
    const isHeld = !isNewIncarnation && node.peers.size > 0;
    const present = { versions, nowMs: clock.now(), ...(isHeld && { isHeld, place }) };
    this.starts = withPresent(isNewIncarnation ? [] : notes.starts, present);
    notes.starts = this.starts;
    this.retain(this.starts.flatMap(({ place }) => place?.segment ?? []));
  }

  /** Changes since the starts may be sent; false where that cannot be noted. */
  readonly release = (): boolean => {
    const { node } = this.process;
    const disk = node.disk as SimulatedDisk;
    if (disk.isFailing) return false;
    disk.notes.starts = this.starts.map(released);
    this.retain([]);
    node.cluster.confirmed(this.process);
    return true;
  };

  private retain(segments: readonly number[]): void {
    const { node, disk, label } = this.process;
    node.cluster.scheduler.settled();
    disk?.retain(segments).catch((error: Error) => node.cluster.said(`${label} keeps files: ${error.message}`));
  }
}

/** An operator copies the disk of a process, and puts the copy back later. */
export function restoreCopy<AnyPlan extends Plan>(
  cluster: Cluster<AnyPlan>,
  process: NodeProcess,
  random: Random,
  startLater: () => void,
): void {
  const { node } = process;
  const { disk, originName } = node;
  // Counts that were made out of reach, and then copied, are carried twice: a known gap (docs/consistency.md).
  if (disk === undefined || cluster.plan.isUnsynced || process.replica.ownStarts.isHolding) return;
  const copy = disk.copy();
  cluster.said(`the disk of ${node.region} is copied`);
  cluster.scheduler.after(cluster.trouble(random) * 2, () => {
    if (node.hasLeft || node.originName !== originName || disk.notes.oldCopy !== undefined) return;
    cluster.said(`the copy takes the place of the disk of ${node.region}`);
    cluster.endProcess(node, true);
    disk.putBack(copy);
    node.isRestored = true;
    startLater();
  });
}

/** A peer has shown that the disk of a process is an old copy: it is marked, and an operator restarts the process. */
export function foundOldCopy(process: NodeProcess, { start, reason }: OldCopyProof): void {
  const { node, origin, label } = process;
  const { cluster } = node;
  const { place: base, versions } = start as KeptStart<LogPlace>;
  if (node.disk === undefined || base === undefined) return;
  cluster.said(`${label}: ${reason}`);
  node.disk.notes.oldCopy = { origin, nextIncarnation: '', base, versions };
  cluster.scheduler.after(cluster.plan.redialMs, () => {
    if (process.isOver) return;
    cluster.said(`${label} is restarted, as its disk is an old copy`);
    cluster.endProcess(node, true);
    node.disk?.killProcess();
    node.start();
  });
}

/**
 * Whether a refusal for lost state is about an old copy. One that is found too late is started anew without its data.
 */
export function isOfOldCopy({ node }: NodeProcess, by: 'here' | 'there'): boolean {
  const { cluster, disk } = node;
  if (!cluster.hasCopies) return false;
  if (by === 'here' && disk?.notes.oldCopy === undefined) cluster.amnesia(node);
  return true;
}
