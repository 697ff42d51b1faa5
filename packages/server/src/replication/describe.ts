import { type Configuration, printAddress } from '@quotadb/config';
import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { lagMs, type Member, nameOfOrigin, type Replica, shardLagMs } from '@quotadb/replication';
import type { Dialer, Mesh } from '@quotadb/replication/mesh';
import type { PeerDescription, PeerState, ShardLag } from '@quotadb/resp';
import { regionOfServer } from '@quotadb/wire';
import type { Logger } from 'pino';
import type { FirstCopySource } from './first-copy.js';
import type { Journal } from './journal.js';

const REPLICA_ID_DIGITS = 32;

/** The peers of this region, for INFO, REPL.PEERS, metrics and the dashboard. */
export function describePeers(mesh: Mesh, journal: Journal): PeerDescription[] {
  const { replica } = mesh;
  if (replica === undefined) return [];
  const dialers = new Map(mesh.peers.map((dialer) => [dialer.peer.region, dialer]));
  return [...replica.members.values()].map((member) =>
    describePeer(replica, member, dialers.get(member.region), journal),
  );
}

function describePeer(replica: Replica, member: Member, dialer: Dialer | undefined, journal: Journal): PeerDescription {
  const { region } = member;
  const link = member.link?.isEstablished === true ? member.link : undefined;
  const nowMs = replica.clock.monotonicMs();
  const { trouble, isRefused } = journal.troubleOf(region);
  const state: PeerState =
    link !== undefined
      ? 'connected'
      : isRefused
        ? 'refused'
        : member.isGivenUp
          ? 'forgotten'
          : member.origin === undefined && member.isConfigured
            ? 'connecting'
            : 'away';
  return {
    region,
    state,
    isConfigured: member.isConfigured,
    address: dialer === undefined ? (link?.acquaintance.address ?? '') : printAddress(dialer.peer),
    incarnation: member.origin === undefined ? '' : nameOfOrigin(member.origin).slice(REPLICA_ID_DIGITS),
    trouble: link === undefined ? trouble : journal.aheadOf(region),
    connectedMs: link === undefined ? 0 : Math.round(nowMs - link.establishedAtMs),
    roundTripMs: link === undefined ? -1 : round(link.figures.roundTripMs),
    skewMs: link === undefined ? 0 : Math.round(link.figures.skewMs),
    lagMs: round(lagMs(replica, member) ?? -1),
    ...lagOf(replica.engine, member.seen.find(replica.ownName)),
    joinedPercent: joinedPercent(replica, member, nowMs),
    figures: journal.figuresOf(region, link),
  };
}

/** The other members of this server's region, for its first copy. */
export function firstCopySources({ replica }: Mesh, journal: Journal, config: Configuration): FirstCopySource[] {
  if (replica === undefined) return [];
  const nowMs = replica.clock.monotonicMs();
  return [...replica.members.values()]
    .filter(({ region }) => regionOfServer(region) === config.region)
    .map(({ region, link, origin }) => ({
      isLinked: link?.isEstablished === true,
      isInStep: origin !== undefined && replica.freshness.ageMs(nameOfOrigin(origin), nowMs) >= 0,
      isInTrouble: journal.aheadOf(region) !== '',
    }));
}

function lagOf(engine: Engine, acknowledged: ArrayLike<number> | undefined) {
  let lagVersions = 0;
  let lagShards = 0;
  for (let shard = 0; shard < engine.shardCount; shard++) {
    const behind = engine.seen(shard, OWN_ORIGIN) - (acknowledged?.[shard] ?? 0);
    if (behind <= 0) continue;
    lagShards++;
    lagVersions = Math.max(lagVersions, behind);
  }
  return { lagVersions, lagShards };
}

function joinedPercent(replica: Replica, { link, origin }: Member, nowMs: number): number {
  if (link === undefined || origin === undefined || link.keysExpected === 0) return 100;
  if (replica.freshness.ageMs(nameOfOrigin(origin), nowMs) >= 0) return 100;
  return Math.min(99, Math.floor((replica.engine.keyCount() * 100) / link.keysExpected));
}

export function describeShards(replica: Replica, member: Member): ShardLag[] {
  const { engine } = replica;
  const seen = member.seen.find(replica.ownName);
  return Array.from({ length: engine.shardCount }, (_, shard) => {
    const version = engine.seen(shard, OWN_ORIGIN);
    const acknowledged = seen?.[shard] ?? 0;
    return { shard, version, acknowledged, lagMs: Math.round(shardLagMs(replica, member, shard) ?? -1) };
  });
}

/** The progress of first copies. */
export function logCopying(peers: readonly PeerDescription[], keys: number, logger: Logger): void {
  for (const { region, joinedPercent } of peers)
    if (joinedPercent < 100) logger.info({ peer: region, percent: joinedPercent, keys }, 'copying');
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
