import type { MapDocument } from '@quotadb/cluster';
import { mapOf } from '@quotadb/cluster';
import { integer } from '@quotadb/config';
import { parseIn } from '../terminal/parse-in.js';
import { Failure } from '../terminal/run-command.js';
import { changeMap, type Plan } from './change-map.js';
import { nameOf } from './member-name.js';
import type { StoreCommand } from './store-command.js';

const MAXIMUM_PORT = 65_535;
type MemberEntry = MapDocument['groups'][string]['members'][number];

/** `quotadb cluster add`. */
export const runAdd: StoreCommand['run'] = async (store, [group], options) => {
  const entry = memberEntry(options as unknown as AddOptions);
  await changeMap(store, ({ document }) => planAdd(document, group, entry), options);
  return undefined;
};

interface AddOptions {
  readonly region: string;
  readonly member?: string;
  readonly host: string;
  readonly port?: string;
  readonly tlsPort?: string;
}

function memberEntry({ region, member, host, port, tlsPort }: AddOptions): MemberEntry {
  const kind = integer('port', 1, MAXIMUM_PORT);
  return {
    region,
    ...(member !== undefined && { member }),
    host,
    ...(port !== undefined && { port: parseIn('--port', kind, port) }),
    ...(tlsPort !== undefined && { tlsPort: parseIn('--tls-port', kind, tlsPort) }),
  };
}

function planAdd(document: MapDocument, group: string, entry: MemberEntry): Plan {
  const existing = document.groups[group];
  const members = [...(existing?.members ?? []), entry];
  const after = { ...document, groups: { ...document.groups, [group]: { ...existing, members } } };
  try {
    mapOf(after);
  } catch (error) {
    throw new Failure((error as Error).message);
  }
  const address = `${entry.host}:${entry.port ?? entry.tlsPort}`;
  return {
    document: after,
    lines: [
      ...(existing === undefined ? [`the group ${group} is new, and has no slots`] : []),
      `the group ${group} gets the member ${nameOf(entry)} at ${address}`,
    ],
  };
}
