import type { User } from '@quotadb/config';
import type { KeyDetails, KeyPage, KeySummary } from '@quotadb/dashboard';
import { ByteInput, countedGenerations, type Engine, joinInt64, OWN_ORIGIN, timeOfVersion } from '@quotadb/engine';
import { REPLICA_ID_BYTES } from '@quotadb/replication';
import type { Clock } from '@quotadb/resp';
import { KeyWalk, keyFilter } from '@quotadb/resp';

export interface KeysView {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly region: string;
  /** The region of a replica id, as far as it is known. */
  readonly regionOf: (replicaId: string) => string | undefined;
}

/** Keys on one page, and the slices of a walk after which an answer is given in any case. */
const PAGE_KEYS = 100;
const MAXIMUM_SLICES = 20;
const SLICE_KEYS = 1000;
const MAXIMUM_PAGE_BYTES = 1024 * 1024;

/** Keys that fit a pattern, from a cursor on; a bounded number, so that no other request waits for them. */
export function findKeys(view: KeysView, pattern: string, cursor: string, user: User): KeyPage {
  const { engine } = view;
  const selection = {
    database: 0,
    pattern: keyFilter(Buffer.from(pattern === '' ? '*' : pattern)),
    isVisible: user.hasPrefixes ? (key: Uint8Array) => user.mayTouch(key, 0, key.length) : undefined,
  };
  const names: Uint8Array[] = [];
  const take = (key: Uint8Array) => names.push(Uint8Array.from(key));
  const bounds = { count: SLICE_KEYS, maximumBytes: MAXIMUM_PAGE_BYTES };
  let at = cursor === '' ? 0n : BigInt(cursor);
  for (let slice = 0; slice < MAXIMUM_SLICES && names.length < PAGE_KEYS; slice++) {
    const walk = new KeyWalk(at, selection, bounds, take);
    walk.runSlice(engine);
    at = walk.cursor;
    if (at === 0n) break;
  }
  return { keys: names.map((name) => summarizeKey(view, name)), cursor: at === 0n ? '' : String(at) };
}

function summarizeKey(view: KeysView, name: Uint8Array): KeySummary {
  const { key, value, expiresAtMs, components } = describeKey(view, name);
  const isText = Buffer.from(key).equals(name);
  return { key, isText, value, expiresAtMs, regions: [...new Set(components.map(({ region }) => region))] };
}

export function describeKey(view: KeysView, key: Uint8Array): KeyDetails {
  const { engine, clock } = view;
  engine.advanceTo(clock.now());
  const input = ByteInput.copyOf(key);
  const exists = engine.open(input, 0, key.length);
  const value = joinInt64(engine.valueHigh, engine.valueLow);
  const { expiresAtMs } = engine;
  engine.close();
  const generations = countedGenerations(engine, input, 0, key.length, new Map());
  return {
    key: Buffer.from(key).toString('utf8'),
    exists,
    value: String(value),
    expiresAtMs,
    components: generations.map(({ originIndex, positive, negative, version }) => {
      const origin = Buffer.from(engine.origins.idOf(originIndex));
      const replicaId = origin.toString('hex', 0, REPLICA_ID_BYTES);
      const isOwn = originIndex === OWN_ORIGIN;
      return {
        region: isOwn ? view.region : (view.regionOf(replicaId) ?? replicaId.slice(0, 8)),
        incarnation: origin.toString('hex', REPLICA_ID_BYTES),
        isOwn,
        added: String(positive),
        taken: String(negative),
        changedAtMs: timeOfVersion(version),
      };
    }),
  };
}
