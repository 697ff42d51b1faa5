import {
  checkDocument,
  DocumentError,
  type LineOf,
  type Mistake,
  type Path,
  quote,
  readDocument,
} from '@quotadb/wire/documents';
import { SLOT_COUNT } from '../slots/key-slot.js';
import { printRange } from '../slots/slot-range.js';
import { ClusterMap, type Member, UNASSIGNED } from './cluster-map.js';
import { movesOf } from './moves-of-map.js';
import { type Report, readSlots } from './read-slots.js';
import { MAXIMUM_GROUPS, MAXIMUM_MAP_BYTES, type MapDocument, mapSchema } from './schema.js';

/** Reads a map from YAML, or JSON. Throws a DocumentError with all mistakes and their lines. */
export function readMap(text: string): ClusterMap {
  return readWhole(text).map;
}

/** The same, as it was written. */
export function readMapDocument(text: string): MapDocument {
  return readWhole(text).document;
}

/** The same of a store that members share: slots may move in it. */
export function readStoredDocument(text: string): MapDocument {
  if (text !== stored?.text) {
    const { document, map } = readWhole(text, true);
    built.set(document, map);
    stored = { text, document };
  }
  return stored.document;
}

/** The one that was read last: a mover reads the same one again and again. */
let stored: { readonly text: string; readonly document: MapDocument } | undefined;
/** Documents never change: another revision is another one. */
const built = new WeakMap<MapDocument, ClusterMap>();

/** The map of a document that a program has made, moves included. Throws a DocumentError with all mistakes. */
export function mapOf(document: MapDocument): ClusterMap {
  const known = built.get(document);
  if (known !== undefined) return known;
  const withoutLines = () => undefined;
  const map = buildChecked(checkDocument(mapSchema, document, withoutLines), withoutLines, true);
  built.set(document, map);
  return map;
}

function readWhole(text: string, mayMove = false): { readonly document: MapDocument; readonly map: ClusterMap } {
  const { value, lineOf } = readDocument(text, 'a cluster map', MAXIMUM_MAP_BYTES);
  const document = checkDocument(mapSchema, value, lineOf);
  return { document, map: buildChecked(document, lineOf, mayMove) };
}

/** Slots move only in a map that members share: a file would say it to one of them. */
function buildChecked(document: MapDocument, lineOf: LineOf, mayMove: boolean): ClusterMap {
  const mistakes: Mistake[] = [];
  const report = (path: Path, message: string) => mistakes.push({ path, message, line: lineOf(path) });
  const map = buildMap(document, report);
  for (const field of ['moves', 'paused'] as const)
    if (!mayMove && document[field] !== undefined)
      report([field], 'slots move only where the map is in etcd: see quotadb cluster move');
  if (mistakes.length > 0) throw new DocumentError(mistakes);
  return map;
}

/** The rules that a schema cannot have: those between groups. */
function buildMap(document: MapDocument, report: Report): ClusterMap {
  const { revision, groups, paused = false } = document;
  const names = Object.keys(groups).sort();
  if (names.length === 0 || names.length > MAXIMUM_GROUPS)
    report(['groups'], `there are ${names.length} groups: 1 to ${MAXIMUM_GROUPS} can be`);
  const owners = new Uint8Array(SLOT_COUNT).fill(UNASSIGNED);
  for (const [index, name] of names.entries()) claimSlots(names, index, groups[name], owners, report);
  const members = names.map((name) => membersOf(name, groups[name], report));
  reportSharedAddresses(names, members, report);
  return new ClusterMap(
    revision,
    names.map((name, index) => ({ name, members: members[index] })),
    owners,
    movesOf(document, names, owners, report),
    paused,
  );
}

function claimSlots(
  names: readonly string[],
  index: number,
  { slots = [] }: MapDocument['groups'][string],
  owners: Uint8Array,
  report: Report,
): void {
  const name = names[index];
  for (const { range, path } of readSlots(slots, ['groups', name, 'slots'], report)) {
    let taken: { readonly first: number; last: number; readonly by: number } | undefined;
    for (let slot = range.first; slot <= range.last; slot++) {
      if (owners[slot] === UNASSIGNED) owners[slot] = index;
      else if (taken?.by === owners[slot]) taken.last = slot;
      else taken ??= { first: slot, last: slot, by: owners[slot] };
    }
    if (taken !== undefined)
      report(path, `slots ${printRange(taken)} are given twice: ${quote(names[taken.by])} has them too`);
  }
}

function membersOf(group: string, { members }: MapDocument['groups'][string], report: Report): Member[] {
  const seen = new Set<string>();
  return members.map(({ region, member: name = '', host, port, tlsPort }, at) => {
    const path = ['groups', group, 'members', at];
    const whole = `${region}/${name}`;
    if (seen.has(whole))
      report(path, `the group has two members ${quote(name)} in ${quote(region)}: give each a name, as in member: two`);
    seen.add(whole);
    if (port === undefined && tlsPort === undefined) report(path, 'a member needs a port, a tlsPort, or both');
    return { group, region, name, host, port, tlsPort };
  });
}

/** Two members at one address: a client would send the keys of one to the other. */
function reportSharedAddresses(
  names: readonly string[],
  members: readonly (readonly Member[])[],
  report: Report,
): void {
  const seen = new Map<string, string>();
  for (const [index, group] of names.entries()) {
    for (const [at, { host, port, tlsPort }] of members[index].entries()) {
      for (const [field, number] of [['port', port] as const, ['tlsPort', tlsPort] as const]) {
        if (number === undefined) continue;
        const address = `${host}:${number}`;
        const other = seen.get(address);
        if (other !== undefined)
          report(
            ['groups', group, 'members', at, field],
            `${address} is the address of a member of ${quote(other)} too`,
          );
        seen.set(address, group);
      }
    }
  }
}
