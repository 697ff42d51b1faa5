import { type MapDocument, type MemberStatement, mapOf, nodeIdOf } from '@quotadb/cluster';
import { Mistake } from '@quotadb/config';
import { Failure } from '../terminal/run-command.js';
import { changeMap, type Plan } from './change-map.js';
import { nameOf } from './member-name.js';
import { printRanges } from './status.js';
import type { StoreCommand } from './store-command.js';

type MemberEntry = MapDocument['groups'][string]['members'][number];

/** `quotadb cluster remove`. */
export const runRemove: StoreCommand['run'] = async (store, [group], options) => {
  const { region, member } = options as RemoveOptions;
  if (member !== undefined && region === undefined) throw new Mistake('--member: needs --region, where the member is');
  const plan = async ({ document }: { document: MapDocument }) =>
    planRemove(document, group, { region, member }, await store.members());
  await changeMap(store, plan, options);
  return undefined;
};

interface RemoveOptions {
  readonly region?: string | undefined;
  readonly member?: string | undefined;
}

function planRemove(
  document: MapDocument,
  group: string,
  { region, member }: RemoveOptions,
  statements: ReadonlyMap<string, MemberStatement>,
): Plan {
  const existing = document.groups[group];
  if (existing === undefined) throw new Failure(`the map has no group ${group}`);
  const isMeant = (entry: MemberEntry) =>
    (region === undefined || entry.region === region) && (member === undefined || entry.member === member);
  const removed = existing.members.filter(isMeant);
  const kept = existing.members.filter((entry) => !isMeant(entry));
  if (removed.length === 0)
    throw new Failure(`the group ${group} has no such member: quotadb cluster status shows them`);
  if (kept.length === 0) return planWithout(document, group, removed, statements);
  return {
    document: { ...document, groups: { ...document.groups, [group]: { ...existing, members: kept } } },
    lines: removed.map((entry) => lineOf(group, entry, statements)),
  };
}

/** The whole group. */
function planWithout(
  document: MapDocument,
  group: string,
  removed: readonly MemberEntry[],
  statements: ReadonlyMap<string, MemberStatement>,
): Plan {
  const slots = mapOf(document).find(group)?.slots ?? [];
  if (slots.length > 0)
    throw new Failure(`the group ${group} has the slots ${printRanges(slots)}: move them to other groups first`);
  const move = document.moves?.find(({ from, to }) => from === group || to === group);
  if (move !== undefined)
    throw new Failure(`slots are on their way from ${move.from} to ${move.to}: wait until they are there`);
  const { [group]: _, ...others } = document.groups;
  if (Object.keys(others).length === 0) throw new Failure(`${group} is the only group of the map`);
  return {
    document: { ...document, groups: others },
    lines: [
      ...removed.map((entry) => lineOf(group, entry, statements)),
      `the group ${group}, which has no slots, is gone`,
    ],
  };
}

function lineOf(group: string, entry: MemberEntry, statements: ReadonlyMap<string, MemberStatement>): string {
  const id = nodeIdOf({ group, region: entry.region, name: entry.member ?? '' });
  const isLive = statements.has(id);
  const line = `the group ${group} loses the member ${nameOf(entry)} at ${entry.host}:${entry.port ?? entry.tlsPort}`;
  return isLive ? `${line}, which runs: stop it, it keeps the map that it has` : line;
}
