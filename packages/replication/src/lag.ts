import { OWN_ORIGIN } from '@quotadb/engine';
import type { Member } from './member.js';
import type { Replica } from './replica.js';

/**
 * How long the oldest change of this node that a member has not acknowledged has waited in a shard: 0 where it has
 * acknowledged all, undefined where the change is from before this process.
 */
export function shardLagMs(replica: Replica, member: Member, shard: number): number | undefined {
  const acknowledged = member.seen.find(replica.ownName)?.[shard] ?? 0;
  if (acknowledged >= replica.engine.seen(shard, OWN_ORIGIN)) return 0;
  const heldUntilMs = replica.ownHistory.heldUntil(shard, acknowledged);
  return heldUntilMs === undefined ? undefined : Math.max(0, replica.clock.monotonicMs() - heldUntilMs);
}

/**
 * The lag of a member, measured by acknowledgements. A ping counts as a change: so a link in step has the lag of a
 * round trip, one that is cut falls behind although nothing changes, and so does a member that is not connected, from
 * when it was last heard. Undefined where the member's last known position is from before this process.
 */
export function lagMs(replica: Replica, member: Member): number | undefined {
  const nowMs = replica.clock.monotonicMs();
  const { link } = member;
  let lag = link?.isEstablished === true ? link.pings.echoMs(nowMs) : nowMs - member.heardAtMs;
  if (member.origin === undefined) return undefined;
  for (let shard = 0; shard < replica.engine.shardCount; shard++) {
    const waitedMs = shardLagMs(replica, member, shard);
    if (waitedMs === undefined) return undefined;
    lag = Math.max(lag, waitedMs);
  }
  return lag;
}
