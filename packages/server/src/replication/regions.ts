import { isSameReplica, nameOfOrigin, type Replica, replicaIdOf } from '@quotadb/replication';

/** One region as far as reading is concerned: as of when this node knows all of it. -1 = never yet. */
export interface RegionView {
  readonly region: string;
  readonly asOfMs: number;
}

/** Hexadecimal digits of a replica id: as many as it takes to tell regions apart that nobody has named here. */
const SHOWN_DIGITS = 8;
const REPLICA_ID_DIGITS = 32;

/**
 * How old this node's view of every region is, its own included where former lives of it are still on their way back. A
 * region may have had several lives (incarnations). Only the last one still says how far it is, so its age is the region's;
 * the former ones are frozen, and a region counts as never known while somebody who is connected has more of one of them.
 */
export function viewRegions(replica: Replica, removed: ReadonlySet<string>, nowMs: number): RegionView[] {
  const { cluster, region: ownRegion } = replica.identity;
  const names = new Map<string, string>([[idOf(cluster, ownRegion), ownRegion]]);
  for (const region of replica.members.keys()) names.set(idOf(cluster, region), region);
  const gone = new Set([...removed].map((region) => idOf(cluster, region)));
  const byReplica = new Map<string, string[]>([...names.keys()].map((id) => [id, []]));
  for (const origin of replica.origins()) {
    const id = origin.slice(0, REPLICA_ID_DIGITS);
    if (!byReplica.has(id)) byReplica.set(id, []);
    byReplica.get(id)?.push(origin);
  }
  const views: RegionView[] = [];
  for (const [id, origins] of byReplica) {
    if (gone.has(id)) continue;
    const isOwn = id === replica.ownName.slice(0, REPLICA_ID_DIGITS);
    const region = names.get(id) ?? `id-${id.slice(0, SHOWN_DIGITS)}`;
    const { asOfMs, latest } = isOwn ? { asOfMs: nowMs, latest: replica.ownName } : newest(replica, origins, nowMs);
    const isComplete = origins.every((origin) => origin === latest || !isBehind(replica, origin));
    if (!isOwn || !isComplete) views.push({ region, asOfMs: isComplete ? asOfMs : -1 });
  }
  return views;
}

const ids = new Map<string, string>();

/** Asked many times a second for the same few. */
function idOf(cluster: string, region: string): string {
  const name = `${cluster}/${region}`;
  let id = ids.get(name);
  if (id === undefined) {
    id = nameOfOrigin(replicaIdOf(cluster, region));
    ids.set(name, id);
  }
  return id;
}

/** The life that was heard of last. Without any word of one, that which is connected. */
function newest(replica: Replica, origins: readonly string[], nowMs: number): { asOfMs: number; latest: string } {
  let asOfMs = -1;
  let latest = '';
  for (const link of replica.links) {
    if (!link.isEstablished) continue;
    const connected = origins.find((origin) => isSameReplica(Buffer.from(origin, 'hex'), link.origin));
    if (connected !== undefined) latest = nameOfOrigin(link.origin);
  }
  if (latest !== '') {
    const ageMs = replica.freshness.ageMs(latest, nowMs);
    return { asOfMs: ageMs < 0 ? -1 : nowMs - ageMs, latest };
  }
  for (const origin of origins) {
    const ageMs = replica.freshness.ageMs(origin, nowMs);
    if (ageMs >= 0 && nowMs - ageMs > asOfMs) {
      asOfMs = nowMs - ageMs;
      latest = origin;
    }
  }
  return { asOfMs, latest };
}

/** Whether somebody who is connected has more of an origin than this node. */
function isBehind(replica: Replica, origin: string): boolean {
  const seen = replica.seenOf(origin);
  for (const link of replica.links) {
    if (!link.isEstablished) continue;
    const theirs = link.member.seen.find(origin);
    if (theirs?.some((version, shard) => version > seen[shard])) return true;
  }
  return false;
}
