import {
  countSlots,
  type Member,
  type MemberStatement,
  mapOf,
  nodeIdOf,
  printRange,
  type SlotRange,
  type StoredMap,
} from '@quotadb/cluster';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { printJson } from '../terminal/json-output.js';
import { alignColumns } from '../terminal/table.js';
import { readExisting, sayOutdated } from './change-map.js';
import type { StoreCommand } from './store-command.js';

/** `quotadb cluster status`. */
export const runStatus: StoreCommand['run'] = async (store, _, { json }) => {
  // Statements first: what changes in between is in the map.
  const statements = await store.members();
  const map = await readExisting(store);
  const status = statusOf(map, statements);
  const outdated = sayOutdated(map, statements);
  if (json) printJson({ ...status, outdated: outdated ?? null });
  else process.stdout.write(`${[printStatus(status), ...(outdated === undefined ? [] : [outdated])].join('\n')}\n`);
  const isWhole = status.groups.every(({ members }) => members.every(({ isLive }) => isLive));
  return isWhole && outdated === undefined ? EXIT_OK : EXIT_FAILURE;
};

function statusOf({ document }: StoredMap, statements: ReadonlyMap<string, MemberStatement>) {
  const { revision, moves = [], paused = false } = document;
  const groups = mapOf(document).groups.map(({ name, slots, members }) => ({
    name,
    slots: printRanges(slots),
    slotCount: countSlots(slots),
    members: members.map((member) => memberStatus(member, statements)),
  }));
  return { revision, groups, moves, paused };
}

type ClusterStatus = ReturnType<typeof statusOf>;

/** The revision in force there is null where the member is away. */
function memberStatus(member: Member, statements: ReadonlyMap<string, MemberStatement>) {
  const { region, name, host, port = null, tlsPort = null } = member;
  const id = nodeIdOf(member);
  const { revision = null, waits = null } = statements.get(id) ?? {};
  return { id, region, member: name, host, port, tlsPort, isLive: revision !== null, revision, waits };
}

function printStatus({ revision, groups, moves, paused }: ClusterStatus): string {
  const rows = groups.flatMap(({ name, slots, slotCount, members }) =>
    members.map(({ region, member, host, port, tlsPort, revision: inForce }, index) => [
      index === 0 ? name : '',
      index === 0 ? `${slotCount}` : '',
      member === '' ? region : `${region}/${member}`,
      `${host}:${port ?? tlsPort}`,
      inForce === null ? 'away' : 'live',
      inForce === null ? '' : `${inForce}`,
      index === 0 ? slots : '',
    ]),
  );
  const titles = ['group', 'slots', 'member', 'address', 'state', 'revision', 'which slots'];
  const moving = moves.map(
    ({ slots = [], from, to, held, left }) =>
      `moving from ${from} to ${to}: ${String(slots)}${held === undefined ? '' : `, held ${String(held)}`}${
        left === undefined ? '' : `, copies to delete ${String(left)}`
      }`,
  );
  const waits = groups.flatMap(({ name, members }) =>
    members.flatMap((member) => (member.waits === null ? [] : [`slots of ${name} wait: ${member.waits}`])),
  );
  const pause = paused ? ['moves stand still: quotadb cluster resume goes on with them'] : [];
  return [
    `the map has the revision ${revision}`,
    ...alignColumns([titles, ...rows]),
    ...moving,
    ...waits,
    ...pause,
  ].join('\n');
}

export function printRanges(ranges: readonly SlotRange[]): string {
  return ranges.map(printRange).join(',');
}
