import { commonRanges, type Group, nodeIdOf, parseRange, printRange, type SlotRange } from '@quotadb/cluster';
import type { MemberLinks } from './links/member-links.js';

/** A member that has not answered by then claims nothing. */
const PATIENCE_MS = 1000;
const FIRST_SLOT_FIELD = 8;

/**
 * Which of these slots another group still has, by its own members that can be reached; undefined where none has any.
 * A group takes slots only when no other claims them.
 */
export async function findClaim(
  links: MemberLinks,
  others: readonly Group[],
  slots: readonly SlotRange[],
): Promise<string | undefined> {
  if (slots.length === 0) return undefined;
  const answers = others.flatMap(({ name, members }) => {
    const ids = new Set(members.map(nodeIdOf));
    return members.map(async (member) => {
      const nodes = await links.ask(member, ['CLUSTER', 'NODES'], PATIENCE_MS).catch(() => '');
      const claimed = commonRanges(slotsOfNodes(nodes.toString(), ids), slots);
      return claimed.length === 0 ? undefined : `the group ${name} still has the slots ${claimed.map(printRange)}`;
    });
  });
  return (await Promise.all(answers)).find((claim) => claim !== undefined);
}

/** The slots that these nodes have in a reply of CLUSTER NODES. */
function slotsOfNodes(nodes: string, ids: ReadonlySet<string>): SlotRange[] {
  return nodes.split(/\r?\n/).flatMap((line) => {
    const fields = line.split(' ');
    if (!ids.has(fields[0])) return [];
    return fields.slice(FIRST_SLOT_FIELD).flatMap((field) => parseRange(field) ?? []);
  });
}
