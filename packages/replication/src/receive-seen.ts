import type { Seen } from '@quotadb/wire';
import { nameOfOrigin } from './identity.js';
import type { Link } from './link.js';
import { timeOfToken } from './pings.js';
import type { Replica } from './replica.js';
import { noteRival } from './twins.js';
import { raise } from './watermarks.js';

/** A peer reports its watermarks of an origin, and, in reports of all shards, which process it has heard of it. */
export function receiveSeen(replica: Replica, link: Link, seen: Seen): void {
  const { origin, versions, shards, isWhole, isKept } = seen;
  const { member } = link;
  const name = nameOfOrigin(origin);
  if (!link.admits(versions) || !link.mayName(origin)) return;
  const watermarks = member.seen.of(name);
  raise(watermarks, shards, versions);
  if (isKept) raise(member.durable.of(name), shards, versions);
  const isAll = isWhole && versions.length === watermarks.length;
  if (name === replica.ownName) {
    const proof = replica.ownStarts.findProof(replica.identity.region, watermarks, isWhole);
    if (proof !== undefined) {
      // What it claims to hold is no acknowledgement.
      member.begin(link.origin, replica.engine.shardCount);
      replica.noteOldCopy(link, proof);
      return;
    }
    if (isAll) member.confirmedAtMs ??= link.heardAtMs;
  } else if (isAll) {
    noteAges(replica, link, name, seen);
  }
  replica.events.seen?.(link);
}

function noteAges(replica: Replica, link: Link, origin: string, seen: Seen): void {
  const { versions, ageMs, afterToken, boot, bootAgeMs } = seen;
  // The peer wrote this after the ping with that token had left here. How long it was under way cannot be known.
  const writtenAfterMs = timeOfToken(afterToken);
  if (afterToken === 0 || writtenAfterMs > link.heardAtMs) return;
  if (ageMs >= 0) replica.freshness.noteClaim(origin, versions, writtenAfterMs - ageMs);
  const heardAgeMs = boot === 0 ? ageMs : bootAgeMs;
  if (heardAgeMs < 0) return;
  const process = { origin, boot, atMs: writtenAfterMs - heardAgeMs };
  replica.processes.note(process, link.heardAtMs - replica.settings.nameLeaseMs);
  noteRival(replica, process);
}
