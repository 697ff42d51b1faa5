import { isSameReplica, nameOfOrigin, type Replica, replicaIdOf } from '@quotadb/replication';

/** How fresh this node's data of a region is: it holds all changes up to `asOfMs`; -1 = not complete yet. */
export interface RegionView {
  readonly region: string;
  readonly asOfMs: number;
}

/** Hexadecimal digits of a replica id that stand for a region without a known name. */
const SHOWN_DIGITS = 8;
const REPLICA_ID_DIGITS = 32;

/**
 * How fresh this node's data of every region is; its own region is in the list while peers still send back changes of
 * its former incarnations. A region may have had several incarnations. Only the last one still reports its progress,
 * so its age is the region's. The former ones no longer change: a region is incomplete while a connected peer holds
 * more of one of them than this node.
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

/** Cached: called many times a second for the same few regions. */
function idOf(cluster: string, region: string): string {
  const name = `${cluster}/${region}`;
  let id = ids.get(name);
  if (id === undefined) {
    id = nameOfOrigin(replicaIdOf(cluster, region));
    ids.set(name, id);
  }
  return id;
}

/** The incarnation that is connected; else the one with the latest report. */
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

/** Whether a connected peer has more of an origin than this node. */
function isBehind(replica: Replica, origin: string): boolean {
  const seen = replica.seenOf(origin);
  for (const link of replica.links) {
    if (!link.isEstablished) continue;
    const theirs = link.member.seen.find(origin);
    if (theirs?.some((version, shard) => version > seen[shard])) return true;
  }
  return false;
}
