import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { type Comparison, isSameReplica, type Member, nameOfOrigin, replicaIdOf } from '@quotadb/replication';
import { granteeOf } from '../allotments/allotment.js';
import type { Policy } from '../policies/policy.js';
import { PolicyError } from '../policies/policy-set.js';
import type { Lost } from './inheritance.js';

/** What the home knows of other regions. */
export interface HomeView {
  readonly engine: Engine;
  readonly cluster: string;
  readonly region: string;
  readonly members: Iterable<Member>;
  /** Regions with a link to this one, or with a route through others. */
  readonly reachable: Iterable<string>;
  /** Whether all regions hold the same changes of some origins, and no more of them can come: see OriginComparison. */
  readonly compare: (origins: readonly Uint8Array[]) => Comparison;
}

/**
 * The incarnations of these regions that are lost. It throws a PolicyError unless every other region that this one
 * knows of has a link to it, so that none holds grants that are not known here.
 */
export function findLost(view: HomeView, policy: Policy, regions: readonly string[]): Uint8Array[] {
  const { engine } = view;
  const members = [...view.members];
  const name = (origin: number) => nameOfOrigin(engine.origins.idOf(origin));
  const present = new Set([
    name(OWN_ORIGIN),
    ...members.flatMap(({ link, origin }) => (link && origin ? [nameOfOrigin(origin)] : [])),
  ]);
  checkConnected(view, members, regions, policy);
  const lost = originsOf(engine).filter(
    (origin) => !present.has(nameOfOrigin(origin)) && regions.some((region) => isOf(view, origin, region)),
  );
  for (const region of regions)
    if (!lost.some((origin) => isOf(view, origin, region)))
      throw new PolicyError(`nothing of region ${region} is lost, as far as is known here`);
  return lost;
}

/** What the tokens of lost incarnations are counted by, once all regions hold the same of them. */
export function describeLost(engine: Engine, { number }: Policy, lost: readonly Uint8Array[]): Lost[] {
  const grantees = granteesIn(engine, number);
  return lost.map((origin) => ({ from: nameOfOrigin(origin), grantees, seen: seenOf(engine, origin) }));
}

function checkConnected(view: HomeView, members: readonly Member[], lost: readonly string[], { name }: Policy): void {
  const missing = (region: string, how: string) =>
    new PolicyError(
      `region ${region} may hold tokens of '${name}' and ${how}: connect it, ` +
        `or say LOST ${region} where it is gone for good`,
    );
  for (const { region, link } of members)
    if (link === undefined && !lost.includes(region)) throw missing(region, 'is not connected');
  const linked = [view.region, ...lost, ...members.map(({ region }) => region)];
  for (const region of view.reachable) if (!linked.includes(region)) throw missing(region, 'has no link to this one');
  for (const origin of originsOf(view.engine))
    if (!linked.some((region) => isOf(view, origin, region)))
      throw new PolicyError(
        `a region that is not known here by name may hold tokens of '${name}', as ${nameOfOrigin(origin)}: ` +
          'connect it, or say LOST with its name where it is gone for good',
      );
}

function seenOf(engine: Engine, origin: Uint8Array): number[] {
  const index = engine.origins.find(origin);
  return Array.from({ length: engine.shardCount }, (_, shard) => engine.seen(shard, index));
}

function granteesIn(engine: Engine, policy: number): string[] {
  const grantees = new Set<string>();
  engine.visitReserved((key) => {
    const grantee = granteeOf(key, policy);
    if (grantee !== undefined) grantees.add(nameOfOrigin(grantee));
  });
  return [...grantees];
}

function originsOf({ origins }: Engine): Uint8Array[] {
  return Array.from({ length: origins.count }, (_, index) => Uint8Array.from(origins.idOf(index)));
}

function isOf({ cluster }: HomeView, origin: Uint8Array, region: string): boolean {
  return isSameReplica(origin, replicaIdOf(cluster, region));
}
