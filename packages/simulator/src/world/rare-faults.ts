import type { Random } from '@quotadb/engine/testing';
import type { Cluster } from './cluster.js';
import type { Actions } from './faults.js';
import type { SimulatedNode } from './node.js';
import { restoreCopy } from './old-copies.js';
import type { Plan, RareKind } from './plan.js';

/** In units of no plan: a server gives its clock a minute, whatever the schedule. */
const LONGEST_LEAP_MS = 50_000;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
/** Beyond all that a peer admits where the bound on clocks is widest. */
const LEAPS_MS = [3 * HOUR_MS, YEAR_MS, 12 * YEAR_MS];

/** With a ping that is due, one that is lost and one that is late, peers have heard of a clock that is right again. */
const PINGS_UNTIL_HEARD = 3;

/** Faults of operation, which only some schedules have. */
export function rareFaultsOf<AnyPlan extends Plan>(cluster: Cluster<AnyPlan>): Actions<RareKind> {
  const { scheduler } = cluster;
  /** Until then a peer may believe that a clock is ahead which is right again. */
  let believedUntilMs = 0;

  const startLater = (node: SimulatedNode, random: Random) =>
    scheduler.after(cluster.trouble(random), () => node.startUnlessUp());

  /**
   * The clock of a node is years ahead, for some seconds. One node at a time: two would confirm each other, and one
   * whose time is ahead admits what another dates ahead.
   */
  const leap = (node: SimulatedNode, random: Random, leapMs: number): void => {
    node.leapMs = leapMs;
    cluster.said(`the clock of ${node.region} leaps ${leapMs} ms ahead`);
    scheduler.after(random.next() * random.pick([3000, LONGEST_LEAP_MS]), () => {
      node.leapMs = 0;
      believedUntilMs = scheduler.nowMs + PINGS_UNTIL_HEARD * cluster.plan.settings.pingIntervalMs;
      cluster.said(`the clock of ${node.region} is right again`);
    });
  };
  const mayLeap = () =>
    scheduler.nowMs >= believedUntilMs &&
    cluster.allNodes.every(({ leapMs, isDatedAhead }) => leapMs === 0 && !isDatedAhead);

  return {
    fillMemory: (process, random) => {
      process.fillMemory(random.chance(0.5));
      cluster.said(`the memory of ${process.label} is full`);
      scheduler.after(cluster.trouble(random), () => process.freeMemory());
    },
    restoreCopy: (process, random) => restoreCopy(cluster, process, random, () => startLater(process.node, random)),
    leapClock: ({ node }, random) => {
      if (!mayLeap()) return;
      // A shorter one is not followed either. Where frames take many seconds, a peer could seem to confirm it.
      const { unitMs, settings } = cluster.plan;
      const shortest = Math.max(settings.skewBoundMs, 10_000) * 2;
      leap(node, random, random.pick(unitMs === 1 ? [shortest, ...LEAPS_MS] : LEAPS_MS));
    },
    startAhead: (process, random) => {
      const { node } = process;
      if (!mayLeap() || !cluster.mayStartAhead) return;
      cluster.said(`${process.label} is killed`);
      cluster.endProcess(node, true);
      if (node.disk === undefined) cluster.loseState(node);
      else node.disk.killProcess();
      leap(node, random, random.pick(LEAPS_MS));
      startLater(node, random);
    },
    loseLog: (process, random) => {
      const { node } = process;
      if (node.disk === undefined || node.isDatedAhead || cluster.plan.isUnsynced) return;
      cluster.said(`${process.label} is killed`);
      cluster.endProcess(node, true);
      node.disk.killProcess();
      const lost = node.disk.loseData(random);
      if (lost !== undefined) {
        cluster.said(`${node.region} loses ${lost}`);
        node.isDamaged = true;
      }
      startLater(node, random);
    },
    stop: ({ node }, random) => cluster.stop(node, () => startLater(node, random)),
    stopOnFailingDisk: ({ node }, random) => {
      const { disk } = node;
      if (disk === undefined) return;
      disk.isFailing = true;
      cluster.stop(node, () => startLater(node, random));
      scheduler.after(cluster.trouble(random), () => {
        disk.isFailing = false;
      });
    },
    twin: ({ node }, random) => {
      if (cluster.twins.length > 0 || cluster.present().length < 2) return;
      const twin = cluster.addTwin(node, random.chance(0.5));
      scheduler.after(cluster.trouble(random) * 2, () => cluster.endTwin(twin));
    },
  };
}
