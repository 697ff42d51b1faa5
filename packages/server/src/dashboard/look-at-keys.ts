import type { User } from '@quotadb/config';
import type { KeyDetails, KeyPage } from '@quotadb/dashboard';
import { ByteInput, countedGenerations, type Engine, joinInt64, OWN_ORIGIN, timeOfVersion } from '@quotadb/engine';
import { isReservedName } from '@quotadb/rate';
import { REPLICA_ID_BYTES } from '@quotadb/replication';
import type { Clock } from '@quotadb/resp';
import { keyFilter } from '@quotadb/resp';

export interface KeysView {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly region: string;
  /** The region of a replica id, as far as it is known. */
  readonly regionOf: (replicaId: string) => string | undefined;
}

/** Keys on one page, and how many the store is asked for before an answer is given in any case. */
const PAGE_KEYS = 100;
const LOOKED_AT_KEYS = 20_000;
const SCAN_COUNT = 1000;

/** Keys that fit a pattern, from a cursor on; a bounded number, so that no other request waits for them. */
export function findKeys(view: KeysView, pattern: string, cursor: string, user: User): KeyPage {
  const { engine } = view;
  const matches = keyFilter(Buffer.from(pattern === '' ? '*' : pattern));
  const keys: string[] = [];
  let at = cursor === '' ? 0n : BigInt(cursor);
  for (let looked = 0; looked < LOOKED_AT_KEYS && keys.length < PAGE_KEYS; looked += SCAN_COUNT) {
    at = engine.scan(at, SCAN_COUNT, (key) => {
      if (isReservedName(key, 0, key.length) || (matches !== undefined && !matches(key))) return;
      if (!user.hasPrefixes || user.mayTouch(key, 0, key.length)) keys.push(Buffer.from(key).toString('utf8'));
    });
    if (at === 0n) break;
  }
  return { keys, cursor: at === 0n ? '' : String(at) };
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
