import type { Hello } from '@quotadb/wire';
import { isSameReplica, nameOfOrigin } from './identity.js';
import type { Replica } from './replica.js';

/**
 * A region name belongs to one process at a time: two would give out the tokens of one region twice. Every peer holds a
 * lease on the name for the process that it has heard within `silenceMs`, directly or by reports that other peers pass
 * on, and refuses another process until then. Returns the reason, for both logs.
 *
 * The proof that another incarnation runs is a report of its own that was made after the last link to it had ended:
 * ages are never too low (freshness.ts), so a process that was killed and started anew is not taken for two.
 */
export function findTwin(replica: Replica, hello: Hello): string | undefined {
  const { region } = hello;
  const nowMs = replica.clock.monotonicMs();
  const member = replica.members.get(region);
  const { link } = member ?? {};
  if (link !== undefined && !link.isClosed && !link.isOfSameProcess(hello))
    return describe(replica, region, link.acquaintance.address, nowMs - link.heardAtMs);
  const name = nameOfOrigin(hello.origin);
  for (const origin of replica.freshness.origins) {
    if (origin === name || !isSameReplica(Buffer.from(origin, 'hex'), hello.origin)) continue;
    const ageMs = replica.freshness.ageMs(origin, nowMs);
    if (ageMs < 0 || ageMs >= replica.settings.silenceMs) continue;
    const endedAtMs = member?.endedAtMs.get(origin);
    if (endedAtMs === undefined || nowMs - ageMs > endedAtMs) return describe(replica, region, 'other regions', ageMs);
  }
  return undefined;
}

function describe({ identity }: Replica, region: string, through: string, ageMs: number): string {
  return (
    `another server runs as region ${region}: region ${identity.region} has heard it ${Math.round(ageMs)} ms ago ` +
    `(${through}). Stop one of the two, or give it a name of its own (--region)`
  );
}
