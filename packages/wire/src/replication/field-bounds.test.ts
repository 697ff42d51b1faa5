import { expect, test } from 'vitest';
import { BatchField } from './batch-fields.js';
import { decodeFrame } from './frame-codec.js';
import { FrameError, FrameKind } from './frames.js';
import { fieldNumbers, isSmallKind } from './messages.js';

/**
 * Every field of every frame: what decoding lets through, and who bounds the rest before it reaches the store or
 * arithmetic. "the gate" is engine/batches/batch-gate.ts. A new field needs a row.
 */
type Decoded = 'uint53' | 'uint32' | 'shard' | 'double' | 'boolean' | 'bytes' | 'text' | 'entries';
type Rows = Readonly<Record<string, readonly [decoded: Decoded, then: string]>>;

const BOUNDS: Readonly<Record<keyof typeof FrameKind, Rows>> = {
  hello: {
    protocol: ['uint32', 'compared'],
    cluster: ['text', 'compared'],
    region: ['text', 'compared with the certificate, where there is one; a member by this name'],
    origin: ['bytes', '32 bytes; its replica id has to be that of the region; a bounded table of origins'],
    shardCount: ['uint32', 'has to be that of this node'],
    agreements: ['entries', 'compared'],
    nowMs: ['double', 'not used'],
    keys: ['uint53', 'shown as a share of the first copy'],
    highestProtocol: ['uint32', 'compared'],
    boot: ['uint53', 'compared'],
  },
  refusal: { code: ['text', 'a label of a metric'], message: ['text', 'logged'] },
  feed: {
    origin: ['bytes', '32 bytes; looked up'],
    isWanted: ['boolean', ''],
    watermarks: ['uint53', 'one for each shard; compared: what lies behind is not sent'],
  },
  batch: {
    shard: ['shard', 'the gate'],
    origin: ['bytes', '32 bytes; that of the peer, or it may relay; a bounded table of origins'],
    walk: ['uint53', 'a name'],
    start: ['uint53', 'the gate'],
    from: ['uint53', 'the gate'],
    reached: ['uint53', 'the gate'],
    to: ['uint53', 'the gate'],
    keys: ['bytes', 'as long as all key lengths'],
    keyLengths: ['entries', 'at most MAXIMUM_KEY_BYTES; the gate'],
    versionDeltas: ['entries', 'their sum is below 2^53; the gate'],
    ages: ['entries', 'at most the version'],
    positives: ['entries', 'any 64 bits'],
    absentAt: ['entries', 'below the number of components'],
    negativeAt: ['entries', 'below the number of components'],
    negatives: ['entries', 'any 64 bits'],
    expiryAt: ['entries', 'below the number of components'],
    expiresAtMs: ['entries', 'the gate'],
    decided: ['entries', 'the gate'],
    floorAt: ['entries', 'below the number of components'],
    floorsMs: ['entries', 'the gate'],
    cancelAt: ['entries', 'below the number of components'],
    cancelledOrigins: ['bytes', '32 bytes; a bounded table of origins'],
    cancelOrigin: ['entries', 'below the number of cancelled origins'],
    cancelBorn: ['entries', 'the gate'],
    cancelPositives: ['entries', 'any 64 bits'],
    cancelNegatives: ['entries', 'any 64 bits'],
  },
  seen: {
    origin: ['bytes', '32 bytes; a bounded table of watermarks'],
    ageMs: ['double', 'not below 0 where it is used; shown, and subtracted from a time of this node'],
    isWhole: ['boolean', ''],
    shards: ['shard', 'those that this node does not have are ignored'],
    versions: ['uint53', 'the gate; of own changes not above the own sequence'],
    afterToken: ['uint53', 'not after now'],
    isKept: ['boolean', ''],
    boot: ['uint53', 'compared'],
    bootAgeMs: ['double', 'not below 0 where it is used; subtracted from a time of this node'],
  },
  ping: { token: ['uint53', 'sent back'] },
  pong: { token: ['uint53', 'not after now'], nowMs: ['double', 'shown'] },
  digests: {
    origin: ['bytes', '32 bytes; that of the peer or this node, or the peer may relay'],
    shards: ['shard', 'those that this node does not have are ignored'],
    versions: ['uint53', 'compared for equality'],
    digests: ['entries', 'compared for equality'],
    question: ['uint53', 'sent back; compared for equality'],
    isAnswer: ['boolean', ''],
  },
  ranges: {
    origin: ['bytes', '32 bytes; that of the peer or this node, or the peer may relay'],
    shard: ['shard', 'one that this node has'],
    version: ['uint53', 'not used'],
    digests: ['entries', 'a power of two of them; compared for equality'],
  },
  inventory: {
    origin: ['bytes', '32 bytes; that of the peer or this node, or the peer may relay'],
    shard: ['shard', 'one that this node has'],
    version: ['uint53', 'the gate'],
    rangeCount: ['uint32', 'a power of two'],
    range: ['uint32', 'below their number'],
    wantsAnswer: ['boolean', ''],
    keys: ['entries', 'at most MAXIMUM_KEY_BYTES each; looked up'],
    versions: ['uint53', 'compared'],
  },
  policies: { version: ['uint53', 'quota/policy-book.ts'], body: ['bytes', 'quota/policy-book.ts'] },
  tokensWanted: {
    origin: ['bytes', '32 bytes; server/quotas'],
    fromRegion: ['text', 'server/quotas'],
    toRegion: ['text', 'server/quotas'],
    request: ['uint53', 'sent back'],
    policy: ['uint32', 'looked up'],
    policiesVersion: ['uint53', 'compared'],
    window: ['double', 'server/quotas'],
    subject: ['bytes', 'server/quotas'],
    need: ['uint53', 'quota/ledger.ts'],
    hops: ['uint32', 'server/quotas'],
  },
  tokensAnswer: {
    origin: ['bytes', '32 bytes; server/quotas'],
    fromRegion: ['text', 'server/quotas'],
    toRegion: ['text', 'server/quotas'],
    request: ['uint53', 'looked up'],
    policy: ['uint32', 'looked up'],
    window: ['double', 'server/quotas'],
    subject: ['bytes', 'server/quotas'],
    granted: ['uint53', 'server/quotas'],
    hops: ['uint32', 'server/quotas'],
  },
  policyChange: { request: ['uint53', 'sent back'], body: ['bytes', 'server/quotas'] },
  policyAnswer: { request: ['uint53', 'looked up'], body: ['bytes', 'server/quotas'] },
};

function numbersOf(kind: number): ReadonlyMap<string, number> {
  return isSmallKind(kind) ? fieldNumbers(kind) : new Map(Object.entries(BatchField));
}

test('every field of every frame has a bound', () => {
  for (const [name, kind] of Object.entries(FrameKind)) {
    const rows = BOUNDS[name as keyof typeof FrameKind];
    expect(Object.keys(rows).sort(), name).toEqual([...numbersOf(kind).keys()].sort());
  }
});

const VARINT = 0;
const FIXED64 = 1;

/** The least value past the bound of a number, as protobuf has it. */
const PAST: Readonly<Partial<Record<Decoded, readonly [wireType: number, bytes: readonly number[]]>>> = {
  uint53: [VARINT, [128, 128, 128, 128, 128, 128, 128, 16]],
  uint32: [VARINT, [128, 128, 128, 128, 16]],
  shard: [VARINT, [128, 128, 4]],
  double: [FIXED64, [0, 0, 0, 0, 0, 0, 0x40, 0x43]],
};

test('a number past the bound of its field is refused when it is decoded', () => {
  for (const [name, kind] of Object.entries(FrameKind)) {
    for (const [field, number] of numbersOf(kind)) {
      const past = PAST[BOUNDS[name as keyof typeof FrameKind][field][0]];
      if (past === undefined) continue;
      const [wireType, bytes] = past;
      const body = [(number << 3) | wireType, ...bytes];
      const frame = Uint8Array.from([(kind << 3) | 2, body.length, ...body]);
      expect(() => decodeFrame(frame), `${name}.${field}`).toThrow(FrameError);
      expect(() => decodeFrame(frame), `${name}.${field}`).toThrow(/at most|past 2\^53 - 1/);
    }
  }
});
