import type { Random } from '@quotadb/engine/testing';
import type { Cluster } from './cluster.js';
import type { SimulatedNode } from './node.js';
import type { FaultKind, Plan } from './plan.js';
import type { NodeProcess } from './process.js';
import { rareFaultsOf } from './rare-faults.js';

const MOST_NODES = 5;

export type Actions<Kind extends string> = Record<Kind, (process: NodeProcess, random: Random) => void>;

/** The faults of every schedule, by kind. */
export function faultsOf<AnyPlan extends Plan>(cluster: Cluster<AnyPlan>): Actions<FaultKind> {
  const { network, scheduler } = cluster;

  const startLater = (node: SimulatedNode, random: Random) =>
    scheduler.after(cluster.trouble(random), () => node.startUnlessUp());

  const crash = (node: SimulatedNode, random: Random, isHeard: boolean) => {
    cluster.said(`${node.process?.label} ${isHeard ? 'is killed' : 'loses its power'}`);
    cluster.endProcess(node, isHeard);
    if (node.disk === undefined) cluster.loseState(node);
    else if (isHeard) node.disk.killProcess();
    else node.disk.failPower();
    // As in a server whose disk is not synced: the data directory records that the machine has started anew.
    if (node.disk !== undefined && !isHeard && cluster.plan.isUnsynced) cluster.doubt(node);
    startLater(node, random);
  };

  const cutFor = (directions: readonly (readonly [string, string])[], random: Random) => {
    const names = directions.map(([from, to]) => `${from}>${to}`).join(' ');
    cluster.said(`cut: ${names}`);
    const mends = directions.map(([from, to]) => network.cut(from, to));
    scheduler.after(cluster.trouble(random), () => {
      cluster.said(`mended: ${names}`);
      for (const mend of mends) mend();
    });
  };

  return {
    ...rareFaultsOf(cluster),
    cut: (process, random) => {
      const other = random.pick(cluster.nodes);
      if (other.region !== process.region) cutFor([[process.region, other.region]], random);
    },
    isolate: (process, random) => {
      const others = cluster.nodes.filter((node) => node !== process.node);
      const isOneWay = random.chance(0.3);
      const away = others.map(({ region }) => [process.region, region] as const);
      const back = others.map(({ region }) => [region, process.region] as const);
      cutFor(isOneWay ? away : [...away, ...back], random);
    },
    breakStream: (_, random) => network.breakOne(random, false),
    halfOpen: (_, random) => network.breakOne(random, true),
    killProcess: (process, random) => crash(process.node, random, true),
    failPower: (process, random) => crash(process.node, random, false),
    loseDisk: (process, random) => {
      if (!process.node.hasDisk) return;
      cluster.endProcess(process.node, false);
      cluster.loseState(process.node);
      startLater(process.node, random);
    },
    join: (_, random) => {
      if (cluster.nodes.length >= MOST_NODES) return;
      const region = `${cluster.plan.joinPrefix ?? ''}j${cluster.nodes.length}`;
      const skewMs = Math.floor((random.next() * 2 - 1) * cluster.plan.skewBoundMs);
      const node = cluster.addNode({ region, hasDisk: random.chance(0.5), skewMs });
      cluster.said(`${region} joins`);
      cluster.wirePeers();
      node.start();
    },
    leave: (process) => {
      if (cluster.present().length <= 2) return;
      const { node } = process;
      cluster.said(`${process.label} leaves for good`);
      cluster.endProcess(node, true);
      node.hasLeft = true;
      cluster.loseState(node);
      for (const { replica } of cluster.running()) replica.removeMember(node.region);
      cluster.wirePeers();
    },
    jumpClock: (process, random) => {
      // A clock that has leapt is not followed, so that a jump would show when it is followed again, not now.
      if (process.node.leapMs !== 0) return;
      process.node.skewMs = Math.floor((random.next() * 2 - 1) * cluster.plan.skewBoundMs);
      cluster.said(`the clock of ${process.label} jumps to ${process.node.skewMs} ms off`);
    },
    failDisk: (process, random) => {
      const { disk } = process.node;
      if (disk === undefined) return;
      disk.isFailing = true;
      scheduler.after(cluster.trouble(random), () => {
        disk.isFailing = false;
      });
    },
    snapshot: (process) => {
      if (process.disk === undefined) return;
      scheduler.settled();
      process.disk
        .snapshot()
        .catch((error: Error) => cluster.said(`no snapshot of ${process.label}: ${error.message}`));
    },
    pause: (process, random) => {
      process.isPaused = true;
      scheduler.after(cluster.trouble(random), () => {
        process.isPaused = false;
      });
    },
    wait: (_, random) => {
      cluster.waitMs = cluster.trouble(random);
    },
  };
}
