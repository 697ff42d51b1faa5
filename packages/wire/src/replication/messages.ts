import { ORIGIN_ID_BYTES } from '@quotadb/engine';
import { type Frame, FrameError, FrameKind } from './frames.js';
import * as fields from './message-fields.js';
import type { ProtoReader } from './proto-reader.js';
import type { ProtoWriter } from './proto-writer.js';

/** Every message but the batch, field by field, as in replication.proto. */
type Message<F extends Frame> = {
  readonly [Name in Exclude<keyof F, 'kind'>]: readonly [number: number, kind: fields.FieldKind<Writable<F[Name]>>];
};
/** Lists are read-only in a frame, and filled here. */
type Writable<T> = T extends readonly (infer Entry)[] ? Entry[] : T;

type SmallKind = Exclude<FrameKind, typeof FrameKind.batch>;

const messages: { readonly [Kind in SmallKind]: Message<Extract<Frame, { kind: Kind }>> } = {
  [FrameKind.hello]: {
    protocol: [1, fields.uint32],
    cluster: [2, fields.text],
    region: [3, fields.text],
    origin: [4, fields.origin],
    shardCount: [5, fields.uint32],
    agreements: [6, fields.agreementList],
    nowMs: [7, fields.double],
    keys: [8, fields.uint53],
    highestProtocol: [9, fields.uint32],
    boot: [10, fields.uint53],
  },
  [FrameKind.refusal]: { code: [1, fields.text], message: [2, fields.text] },
  [FrameKind.feed]: {
    origin: [1, fields.origin],
    isWanted: [2, fields.boolean],
    watermarks: [3, fields.uint53List],
  },
  [FrameKind.seen]: {
    origin: [1, fields.origin],
    ageMs: [2, fields.double],
    isWhole: [3, fields.boolean],
    shards: [4, fields.shardList],
    versions: [5, fields.uint53List],
    afterToken: [6, fields.uint53],
    isKept: [7, fields.boolean],
    boot: [8, fields.uint53],
    bootAgeMs: [9, fields.double],
  },
  [FrameKind.ping]: { token: [1, fields.uint53] },
  [FrameKind.pong]: { token: [1, fields.uint53], nowMs: [2, fields.double] },
  [FrameKind.digests]: {
    origin: [1, fields.origin],
    shards: [2, fields.shardList],
    versions: [3, fields.uint53List],
    digests: [4, fields.digestList],
    question: [5, fields.uint53],
    isAnswer: [6, fields.boolean],
  },
  [FrameKind.ranges]: {
    origin: [1, fields.origin],
    shard: [2, fields.shard],
    version: [3, fields.uint53],
    digests: [4, fields.rangeDigests],
  },
  [FrameKind.inventory]: {
    origin: [1, fields.origin],
    shard: [2, fields.shard],
    version: [3, fields.uint53],
    rangeCount: [4, fields.uint32],
    range: [5, fields.uint32],
    wantsAnswer: [6, fields.boolean],
    keys: [7, fields.keyList],
    versions: [8, fields.uint53List],
  },
  [FrameKind.policies]: { version: [1, fields.uint53], body: [2, fields.bytes] },
  [FrameKind.tokensWanted]: {
    origin: [1, fields.origin],
    fromRegion: [2, fields.text],
    toRegion: [3, fields.text],
    request: [4, fields.uint53],
    policy: [5, fields.uint32],
    policiesVersion: [6, fields.uint53],
    window: [7, fields.double],
    subject: [8, fields.bytes],
    need: [9, fields.uint53],
    hops: [10, fields.uint32],
  },
  [FrameKind.tokensAnswer]: {
    origin: [1, fields.origin],
    fromRegion: [2, fields.text],
    toRegion: [3, fields.text],
    request: [4, fields.uint53],
    policy: [5, fields.uint32],
    window: [6, fields.double],
    subject: [7, fields.bytes],
    granted: [8, fields.uint53],
    hops: [9, fields.uint32],
  },
  [FrameKind.policyChange]: { request: [1, fields.uint53], body: [2, fields.bytes] },
  [FrameKind.policyAnswer]: { request: [1, fields.uint53], body: [2, fields.bytes] },
};

interface Field {
  readonly name: string;
  readonly number: number;
  readonly kind: fields.FieldKind<unknown>;
}

/** The same by kind of frame. */
const fieldsOf = new Map<number, readonly Field[]>(
  Object.entries(messages).map(([kind, message]) => [
    Number(kind),
    Object.entries(message).map(([name, [number, fieldKind]]) => ({
      name,
      number,
      kind: fieldKind as fields.FieldKind<unknown>,
    })),
  ]),
);

/** The fields of a message but the batch, by name: a test holds that each has a bound. */
export function fieldNumbers(kind: SmallKind): ReadonlyMap<string, number> {
  return new Map((fieldsOf.get(kind) as readonly Field[]).map(({ name, number }) => [name, number]));
}

export function isSmallKind(kind: number): kind is SmallKind {
  return fieldsOf.has(kind);
}

export function writeMessage(writer: ProtoWriter, frame: Extract<Frame, { kind: SmallKind }>): void {
  checkTogether(frame);
  const values = frame as unknown as Record<string, unknown>;
  for (const { name, number, kind } of fieldsOf.get(frame.kind) as readonly Field[]) {
    kind.write(writer, number, values[name]);
  }
}

export function readMessage(reader: ProtoReader, kind: SmallKind): Frame {
  const values: Record<string, unknown> = { kind };
  const known = fieldsOf.get(kind) as readonly Field[];
  while (reader.next()) {
    const field = known.find(({ number }) => number === reader.field);
    if (field === undefined) reader.skip();
    else values[field.name] = field.kind.read(reader, values[field.name] ?? field.kind.missing());
  }
  for (const field of known) if (!(field.name in values)) values[field.name] = field.kind.missing();
  const frame = values as unknown as Frame;
  checkTogether(frame);
  return frame;
}

/** Checks that span fields: columns of one length, a range that exists. */
function checkTogether(frame: Frame): void {
  if ('origin' in frame) expectOrigin(frame.origin);
  if (frame.kind === FrameKind.seen || frame.kind === FrameKind.digests) {
    expectEqual(frame.shards.length, frame.versions.length);
  }
  if (frame.kind === FrameKind.digests) expectEqual(frame.shards.length, frame.digests.length);
  if (frame.kind === FrameKind.ranges) expectRanges(frame.digests.length);
  if (frame.kind === FrameKind.inventory) {
    expectEqual(frame.keys.length, frame.versions.length);
    expectRanges(frame.rangeCount);
    if (frame.range >= frame.rangeCount) {
      throw new FrameError(`there is no range ${frame.range} of ${frame.rangeCount}`);
    }
  }
}

function expectOrigin({ length }: Uint8Array): void {
  if (length !== ORIGIN_ID_BYTES) throw new FrameError(`an origin has ${ORIGIN_ID_BYTES} bytes, not ${length}`);
}

function expectEqual(left: number, right: number): void {
  if (left !== right) throw new FrameError(`columns of one message have ${left} and ${right} entries`);
}

function expectRanges(count: number): void {
  if (count < 1 || !Number.isInteger(Math.log2(count)))
    throw new FrameError(`${count} ranges: their number has to be a power of two`);
}
