import fc from 'fast-check';
import { type Frame, FrameKind } from '../frames.js';
import { originOf, type PlainBatch, type PlainComponent, toBatch } from './components.js';

/** Random frames, with a liking for the numbers at which encodings change. */
const TWO_POW_53 = 2 ** 53;
const edges = [0, 1, 127, 128, 16383, 16384, 2 ** 21, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 35];
const edges64 = [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 56n - 1n, 2n ** 56n, 2n ** 63n, 2n ** 64n - 1n];

const version = fc.oneof(fc.constantFrom(...edges, TWO_POW_53 - 1), fc.nat(), fc.maxSafeNat());
const amount = fc.oneof(fc.constantFrom(...edges64), fc.bigInt({ min: 0n, max: 1000n }), fc.bigInt(0n, 2n ** 64n - 1n));
const byte = fc.nat(255);
const origin = byte.map(originOf);
const shard = fc.oneof(fc.nat(63), fc.constantFrom(0, 127, 128, 65535));
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const key = fc.oneof(
  fc.uint8Array({ maxLength: 24 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc.constantFrom('', 'k'.repeat(127), 'k'.repeat(128), 'k'.repeat(65536)),
);
const double = fc.oneof(
  fc.constantFrom(0, -1, 0.5, 1735689600000, -0),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: 1 - TWO_POW_53, max: TWO_POW_53 - 1 }),
);

const component: fc.Arbitrary<PlainComponent> = fc
  .record({
    key,
    version,
    age: version,
    present: fc.boolean(),
    positive: amount,
    negative: fc.oneof({ weight: 3, arbitrary: fc.constant(0n) }, amount),
    expiry: fc.option(fc.record({ expiresAtMs: version, decided: version.map((value) => Math.max(1, value)) })),
    floorMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, version),
    cancels: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      fc.array(fc.record({ origin: byte, born: version, positive: amount, negative: amount }), { maxLength: 4 }),
    ),
  })
  .map(({ age, expiry, ...rest }) => ({
    ...rest,
    born: rest.version - Math.min(age, rest.version),
    expiresAtMs: expiry?.expiresAtMs ?? 0,
    decided: expiry?.decided ?? 0,
  }));

const arbitraryBatch: fc.Arbitrary<PlainBatch> = fc
  .record({
    shard,
    origin: byte,
    walk: version,
    start: version,
    from: version,
    reached: version,
    to: version,
    components: fc.array(component, { maxLength: 30 }),
  })
  .map((batch) => ({ ...batch, components: batch.components.toSorted((a, b) => a.version - b.version) }));

const bytes = fc.uint8Array({ maxLength: 60 });

const arbitrarySmallFrame: fc.Arbitrary<Frame> = fc.oneof<fc.Arbitrary<Frame>[]>(
  fc.record({
    kind: fc.constant(FrameKind.hello),
    protocol: fc.nat(2 ** 31 - 1),
    highestProtocol: fc.nat(2 ** 31 - 1),
    cluster: text,
    region: text,
    origin,
    shardCount: fc.nat(1024),
    agreements: fc.array(fc.record({ name: text, value: text }), { maxLength: 5 }),
    nowMs: double,
    keys: version,
    boot: version,
  }),
  fc.record({ kind: fc.constant(FrameKind.refusal), code: text, message: text }),
  fc.record({
    kind: fc.constant(FrameKind.feed),
    origin,
    isWanted: fc.boolean(),
    watermarks: fc.array(version, { maxLength: 80 }),
  }),
  fc.array(fc.tuple(shard, version)).chain((pairs) =>
    fc.record({
      kind: fc.constant(FrameKind.seen),
      origin,
      ageMs: double,
      isWhole: fc.boolean(),
      afterToken: version,
      isKept: fc.boolean(),
      boot: version,
      bootAgeMs: double,
      shards: fc.constant(pairs.map(([index]) => index)),
      versions: fc.constant(pairs.map(([, reached]) => reached)),
    }),
  ),
  fc.record({ kind: fc.constant(FrameKind.ping), token: version }),
  fc.record({ kind: fc.constant(FrameKind.pong), token: version, nowMs: double }),
  fc.array(fc.tuple(shard, version, amount)).chain((rows) =>
    fc.record({
      kind: fc.constant(FrameKind.digests),
      origin,
      shards: fc.constant(rows.map(([index]) => index)),
      versions: fc.constant(rows.map(([, reached]) => reached)),
      digests: fc.constant(rows.map(([, , digest]) => digest.toString(16).padStart(16, '0'))),
      question: version,
      isAnswer: fc.boolean(),
    }),
  ),
  fc.nat(8).chain((power) =>
    fc.record({
      kind: fc.constant(FrameKind.ranges),
      origin,
      shard,
      version,
      digests: fc.int32Array({ minLength: 2 ** power, maxLength: 2 ** power }),
    }),
  ),
  fc.array(fc.tuple(key, version), { maxLength: 20 }).chain((rows) =>
    fc.record({
      kind: fc.constant(FrameKind.inventory),
      origin,
      shard,
      version,
      rangeCount: fc.constant(256),
      range: byte,
      wantsAnswer: fc.boolean(),
      keys: fc.constant(rows.map(([name]) => Uint8Array.from(Buffer.from(name, 'latin1')))),
      versions: fc.constant(rows.map(([, at]) => at)),
    }),
  ),
  fc.record({ kind: fc.constant(FrameKind.policies), version, body: bytes }),
  fc.record({
    kind: fc.constant(FrameKind.tokensWanted),
    origin,
    fromRegion: text,
    toRegion: text,
    request: version,
    policy: fc.nat(),
    policiesVersion: version,
    window: double,
    subject: bytes,
    need: version,
    hops: fc.nat(9),
  }),
  fc.record({
    kind: fc.constant(FrameKind.tokensAnswer),
    origin,
    fromRegion: text,
    toRegion: text,
    request: version,
    policy: fc.nat(),
    window: double,
    subject: bytes,
    granted: version,
    hops: fc.nat(9),
  }),
  fc.record({ kind: fc.constant(FrameKind.policyChange), request: version, body: bytes }),
  fc.record({ kind: fc.constant(FrameKind.policyAnswer), request: version, body: bytes }),
);

export const arbitraryFrame: fc.Arbitrary<Frame> = fc.oneof(
  { weight: 2, arbitrary: arbitrarySmallFrame },
  { weight: 1, arbitrary: arbitraryBatch.map((plain) => ({ kind: FrameKind.batch, batch: toBatch(plain) })) },
);
