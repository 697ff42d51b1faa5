import {
  ByteInput,
  countedGenerations,
  type Engine,
  OWN_ORIGIN,
  RESERVED_PREFIX,
  Status,
  splitInt64,
} from '@quotadb/engine';
import type { ChangeMark } from './ledger.js';

/**
 * What has to outlive the process beside counters: reservations, leases, and the ids of operations. Each is a key under
 * a reserved name, so that it reaches the disk, expires and replicates as every other key does.
 *
 *   bytes | key
 *   ------|---------------------------------------------------------------------------------------------
 *   0–3   | RESERVED_PREFIX
 *   4     | 'r' reservation, 'l' lease, 'o' id of an operation
 *   5 …   | 'r' and 'l': what never changes about it, in JSON. 'o': SHA-256 of the id
 *
 *   kind | P of the own component            | N of the own component
 *   -----|-----------------------------------|----------------------------------------------------
 *   r    | 1; settled: 1 + the charged cost  | 0; settled: 1 + the actual cost
 *   l    | when it ends, in ms by the clock  | 1 + the last window in which it holds a token
 *   o    | 1 + 48 bits of SHA-256 of the rest of the request | 0
 *
 * P and N only grow. A reservation and a lease belong to the incarnation whose component it is: others hold a copy and
 * have no use for it. An id is known to every region that has received it.
 */
export const KeptKind = { reservation: 0x72, lease: 0x6c, operation: 0x6f } as const;
export type KeptKind = (typeof KeptKind)[keyof typeof KeptKind];

export interface KeptRecord {
  readonly body: Uint8Array;
  readonly added: number;
  readonly taken: number;
}

const KIND_AT = RESERVED_PREFIX.length;
const BODY_AT = KIND_AT + 1;

export class KeptRecords {
  private readonly engine: Engine;
  private lastMark: ChangeMark | undefined = undefined;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /**
   * Raises P and N of a record to these, and makes it where there is none; it expires then, or never (0). Undefined
   * where there is no memory for it: a new record is not there then, one that was there is as it was or partly raised.
   */
  set(
    kind: KeptKind,
    body: Uint8Array,
    { added, taken }: Pick<KeptRecord, 'added' | 'taken'>,
    expiresAtMs: number,
  ): ChangeMark | undefined {
    const { engine } = this;
    const { input, length } = keyOf(kind, body);
    engine.openAny(input, 0, length);
    const isNew = engine.ownAdded === 0;
    const more = Math.max(0, added - engine.ownAdded);
    const less = Math.max(0, taken - engine.ownTaken);
    let status: Status = Status.Ok;
    if (more > 0 || less === 0) status = engine.add(...splitInt64(BigInt(more)));
    if (less > 0 && status === Status.Ok) status = engine.add(...splitInt64(BigInt(-less)));
    if (status === Status.Ok && expiresAtMs !== 0) status = engine.expireAt(expiresAtMs);
    if (status !== Status.Ok && isNew) engine.remove();
    if (status === Status.Ok) this.markOfOpen();
    else this.lastMark = undefined;
    engine.close();
    return this.lastMark;
  }

  remove(kind: KeptKind, body: Uint8Array): ChangeMark {
    const { engine } = this;
    const { input, length } = keyOf(kind, body);
    engine.openAny(input, 0, length);
    engine.remove();
    const mark = this.markOfOpen();
    engine.close();
    return mark;
  }

  /** P of every origin that has such a record and whose record has not expired. */
  valuesOf(kind: KeptKind, body: Uint8Array): number[] {
    const { engine } = this;
    const { input, length } = keyOf(kind, body);
    const exists = engine.openAny(input, 0, length);
    engine.close();
    if (!exists) return [];
    return countedGenerations(engine, input, 0, length, new Map()).map(({ positive }) => Number(positive));
  }

  /** The records of this incarnation, in no order. */
  own(kind: KeptKind): KeptRecord[] {
    const { engine } = this;
    const records: KeptRecord[] = [];
    engine.visitReserved((key) => {
      if (key[KIND_AT] !== kind) return;
      engine.openAny(ByteInput.copyOf(key), 0, key.length);
      const { exists, ownAdded: added, ownTaken: taken } = engine;
      engine.close();
      if (exists && added > 0) records.push({ body: key.subarray(BODY_AT), added, taken });
    });
    return records;
  }

  /** The change just made is on disk when all of the shard's so far are. */
  private markOfOpen(): ChangeMark {
    const shard = this.engine.openShardIndex;
    this.lastMark = { shard, version: this.engine.seen(shard, OWN_ORIGIN) };
    return this.lastMark;
  }

  /** The last change since this was asked before: an answer that must not be lost waits for it. */
  takeLastMark(): ChangeMark | undefined {
    const { lastMark } = this;
    this.lastMark = undefined;
    return lastMark;
  }
}

function keyOf(kind: KeptKind, body: Uint8Array): { readonly input: ByteInput; readonly length: number } {
  const key = new Uint8Array(BODY_AT + body.length);
  key.set(RESERVED_PREFIX);
  key[KIND_AT] = kind;
  key.set(body, BODY_AT);
  return { input: ByteInput.copyOf(key), length: key.length };
}
