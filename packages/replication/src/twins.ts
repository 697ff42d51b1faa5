import type { Hello } from '@quotadb/wire';
import { isSameReplica, nameOfOrigin } from './identity.js';
import type { Link } from './link.js';
import type { HeardProcess } from './processes.js';
import type { Replica } from './replica.js';

/**
 * A region name belongs to one process at a time: two would give out the tokens of one region twice, and two of one
 * data directory its versions. Every peer holds a lease on the name for the process that it has a link to, or
 * that it has heard within `nameLeaseMs` by reports that other peers pass on, and refuses another process until then.
 * Returns the reason, for both logs.
 *
 * The proof that another one runs is a report of it that was made after the last link to it had ended: times of reports
 * are never too late (processes.ts), so a process that was killed and started anew is not taken for two.
 */
export function findTwin(replica: Replica, hello: Hello): string | undefined {
  const { region } = hello;
  const nowMs = replica.clock.monotonicMs();
  const member = replica.members.get(region);
  const { link } = member ?? {};
  if (link !== undefined && !link.isClosed && !link.isOfSameProcess(hello))
    return describe(replica, region, link.acquaintance.address, nowMs - link.heardAtMs);
  const name = nameOfOrigin(hello.origin);
  for (const process of replica.processes.ofReplica(hello.origin)) {
    if (process.origin === name && !isOther(process, hello)) continue;
    const ageMs = nowMs - process.atMs;
    if (ageMs >= replica.settings.nameLeaseMs) continue;
    const endedAtMs = member?.endedAtMs(process);
    if (endedAtMs === undefined || process.atMs > endedAtMs) return describe(replica, region, 'other regions', ageMs);
  }
  return undefined;
}

/**
 * The same for a link that was there before: a report of another process under its name. Both run if the one on the
 * link was heard before that report was made and answers a ping that was sent after it came. Then every region refuses
 * the same one of the two, that with the higher boot number.
 */
export function findTwinOf(replica: Replica, link: Link): string | undefined {
  const { rival } = link;
  if (rival === undefined || link.boot < rival.boot) return undefined;
  return describe(replica, link.region, 'other regions', replica.clock.monotonicMs() - rival.atMs);
}

/** A report about a process under the name of a link's region, by another region. */
export function noteRival(replica: Replica, process: HeardProcess): void {
  if (process.boot === 0) return;
  for (const link of replica.links) {
    if (!link.isEstablished || !isSameReplica(link.origin, Buffer.from(process.origin, 'hex'))) continue;
    if (nameOfOrigin(link.origin) === process.origin && !isOther(process, link)) continue;
    if (process.atMs > link.establishedAtMs) link.rival ??= { ...process, atMs: replica.clock.monotonicMs() };
  }
}

/** Both have boot numbers, and they differ. */
function isOther({ boot }: { readonly boot: number }, { boot: known }: { readonly boot: number }): boolean {
  return boot !== 0 && known !== 0 && boot !== known;
}

function describe({ identity }: Replica, region: string, through: string, ageMs: number): string {
  return (
    `another server runs as region ${region}: region ${identity.region} has heard it ${Math.round(ageMs)} ms ago ` +
    `(${through}). Stop one of the two, or give it a name of its own (--region)`
  );
}
