import type { ClusterFigures, GroupFigures, GroupMember, MoveFigures } from '../../src/snapshot.js';
import { count } from './format.js';
import { Alert, Panel, State } from './panel.js';
import { SLOT_COUNT, segmentsOf } from './slot-segments.js';
import { head, number, Table, text } from './table.js';

const COLORS = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5'];
/** Ranges of a group that are written out. */
const SHOWN_RANGES = 3;
/** A part of the bar that its name fits into. */
const NAMED_PART = 0.08;

interface Row extends GroupMember {
  readonly group: GroupFigures;
  readonly index: number;
  /** The first of its group, which names the group. */
  readonly isFirst: boolean;
}

/** Groups, their slots and their members, as one server sees them. */
export function ClusterPanel(props: { of: ClusterFigures; seenBy: string }) {
  const { groups, group, revision, revisions, unassignedSlots, moves, isPaused } = props.of;
  const rows = groups.flatMap((each, index) =>
    each.members.map((member, at): Row => ({ ...member, group: each, index, isFirst: at === 0 })),
  );
  const size = `${count(groups.length)} groups, revision ${revision} of the map.`;
  return (
    <Panel title="Cluster" caption={`${size} As ${props.seenBy} of the group ${group} sees it.`}>
      <Alert
        text={unassignedSlots === 0 ? '' : `${count(unassignedSlots)} slots are of no group: their keys are refused.`}
      />
      <Alert text={revisions <= 1 ? '' : 'Members know different revisions of the map.'} />
      {groups.map(({ name, trouble }) => (
        <Alert key={name} text={trouble === '' ? '' : `Policies of the group ${name} differ: ${trouble}`} />
      ))}
      <SlotBar of={props.of} />
      <Table columns={MEMBER_COLUMNS} rows={rows} keyOf={({ group: { name }, ...row }) => `${name} ${row.name}`} />
      {moves.length > 0 && (
        <>
          <h3>{isPaused ? 'Moves, paused' : 'Moves'}</h3>
          <Table columns={MOVE_COLUMNS} rows={moves} keyOf={({ from, to, ranges }) => `${from} ${to} ${ranges[0]}`} />
        </>
      )}
    </Panel>
  );
}

/** Who has which of all slots; the table below says the same in words. */
function SlotBar(props: { of: ClusterFigures }) {
  const { groups } = props.of;
  return (
    <div class="slots" aria-hidden="true">
      <div class="share tall">
        {segmentsOf(props.of).map(({ first, last, group, isMoving }) => {
          const part = (last + 1 - first) / SLOT_COUNT;
          return (
            <span
              key={first}
              class={group === -1 ? 'unassigned' : isMoving ? 'moving' : ''}
              style={`width:${100 * part}%;--color:var(${colorOf(group)})`}
              title={`${first}–${last}: ${groups[group]?.name ?? 'no group'}`}
            >
              {part > NAMED_PART ? groups[group]?.name : ''}
            </span>
          );
        })}
      </div>
      <div class="slot-numbers">
        {[0, 4096, 8192, 12_288, SLOT_COUNT - 1].map((slot) => (
          <span key={slot}>{count(slot)}</span>
        ))}
      </div>
    </div>
  );
}

function colorOf(group: number): string {
  return group === -1 ? '--raised' : (COLORS[group % COLORS.length] as string);
}

const MEMBER_COLUMNS = [
  head('Group', ({ group, index, isFirst }: Row) =>
    isFirst ? (
      <State dot="" style={`background:var(${colorOf(index)})`}>
        {group.name}
      </State>
    ) : (
      ''
    ),
  ),
  text('Slots', ({ group, isFirst }: Row) => (isFirst ? slotsOf(group) : '')),
  text('Member', ({ name }: Row) => name),
  text('Address', ({ address }: Row) => address, 'mono wide'),
  text('State', ({ state }: Row) => <State dot={DOTS[state]}>{WORDS[state]}</State>),
  number('Map', ({ revision }: Row) => (revision === null ? '–' : String(revision))),
  text('Policies', ({ group, isFirst }: Row) => (isFirst && group.policies !== null ? POLICIES[group.policies] : '')),
];

const DOTS = { here: 'good', reachable: 'good', unreachable: 'bad', unknown: '' } as const;
const WORDS = {
  here: 'this server',
  reachable: 'answers',
  unreachable: 'no answer',
  unknown: 'not asked yet',
} as const;
const POLICIES = { same: 'the same', different: 'different', unreachable: 'not known' } as const;

function slotsOf({ slots, ranges }: GroupFigures): string {
  if (slots === 0) return 'none';
  const shown = ranges.slice(0, SHOWN_RANGES).map(([first, last]) => (first === last ? first : `${first}–${last}`));
  return `${count(slots)}: ${shown.join(', ')}${ranges.length > SHOWN_RANGES ? ', …' : ''}`;
}

const MOVE_COLUMNS = [
  head('From', ({ from }: MoveFigures) => from),
  text('To', ({ to }: MoveFigures) => to),
  number('Slots to go', ({ slots }: MoveFigures) => count(slots)),
  number('Held', ({ heldSlots }: MoveFigures) => count(heldSlots)),
];
