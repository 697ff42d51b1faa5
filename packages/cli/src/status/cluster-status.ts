import type { ClusterFigures, GroupFigures, GroupMember } from '@quotadb/dashboard';
import { alignColumns } from '../terminal/table.js';

/** Ranges of a group that are written out. */
const SHOWN_RANGES = 3;
const BAR_SLOTS = 16_384;
const BAR_CHARACTERS = 64;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The reply of CLUSTER STATUS; undefined where the server has no map, or is an earlier version. */
export function readClusterStatus(reply: string): ClusterFigures | undefined {
  return reply === '' ? undefined : (JSON.parse(reply) as ClusterFigures);
}

/** A line about the map, a bar of the slots, and a row for each member of each group. */
export function formatCluster(server: string, cluster: ClusterFigures): string[] {
  const { revision, revisions, group, unassignedSlots, groups, moves, isPaused } = cluster;
  const rows = groups.flatMap((each, index) =>
    each.members.map((member, at) => rowOf(each, member, at === 0 ? letterOf(index) : '')),
  );
  return [
    `${server}: group ${group}, revision ${revision} of the cluster map`,
    barOf(cluster),
    ...alignColumns([['', 'group', 'slots', 'member', 'address', 'state', 'map', 'policies'], ...rows]),
    ...moves.map(({ from, to, slots, heldSlots }) => {
      const pause = isPaused ? ', paused' : '';
      return `moving ${slots.toLocaleString('en')} slots from ${from} to ${to}, ${heldSlots} held${pause}`;
    }),
    ...(unassignedSlots > 0 ? [`${unassignedSlots.toLocaleString('en')} slots are of no group`] : []),
    ...(revisions > 1 ? ['members know different revisions of the map'] : []),
    ...groups.flatMap(({ name, trouble }) =>
      trouble === '' ? [] : [`policies of the group ${name} differ: ${trouble}`],
    ),
  ];
}

/** Whether something is wrong that an operator has to look at. */
export function isClusterFailing({ groups, unassignedSlots }: ClusterFigures): boolean {
  const isAway = ({ members }: GroupFigures) => members.every(({ state }) => state === 'unreachable');
  return unassignedSlots > 0 || groups.some(isAway);
}

function rowOf(group: GroupFigures, { name, address, state, revision }: GroupMember, letter: string): string[] {
  const map = revision === null ? '' : String(revision);
  if (letter === '') return ['', '', '', name, address, state, map, ''];
  return [letter, group.name, slotsOf(group), name, address, state, map, group.policies ?? ''];
}

function slotsOf({ slots, ranges }: GroupFigures): string {
  if (slots === 0) return 'none';
  const shown = ranges.slice(0, SHOWN_RANGES).map(([first, last]) => (first === last ? first : `${first}-${last}`));
  return `${slots.toLocaleString('en')}: ${shown.join(', ')}${ranges.length > SHOWN_RANGES ? ', …' : ''}`;
}

/** One character for 256 slots: the letter of the group that has the first of them, or a dot where none has it. */
function barOf({ groups }: ClusterFigures): string {
  const slots = Array.from({ length: BAR_CHARACTERS }, (_, at) => (at * BAR_SLOTS) / BAR_CHARACTERS);
  const owners = slots.map((slot) =>
    groups.findIndex(({ ranges }) => ranges.some(([first, last]) => first <= slot && slot <= last)),
  );
  return `0 [${owners.map((owner) => (owner === -1 ? '.' : letterOf(owner))).join('')}] 16383`;
}

function letterOf(group: number): string {
  return LETTERS[group % LETTERS.length] as string;
}
