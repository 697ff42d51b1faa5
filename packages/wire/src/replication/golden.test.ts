import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { decodeFrame, encodeFrame } from './frame-codec.js';
import { type Frame, FrameKind } from './frames.js';
import { originOf, toBatch } from './testing/components.js';
import { plainOf } from './testing/plain-message.js';

/**
 * Every kind of frame, as hexadecimal text in packages/wire/golden. Two releases in one cluster exchange these bytes,
 * so a change that this test finds needs a new protocol version (replication/protocol-versions.ts). UPDATE_GOLDEN=1
 * writes the files anew.
 */
const golden = fileURLToPath(new URL('../../golden', import.meta.url));
const origin = originOf(0xa1);
const policyBody = Buffer.from('{"version":7,"policies":[]}');

const hello = {
  kind: FrameKind.hello,
  protocol: 1,
  highestProtocol: 0,
  boot: 0,
  cluster: 'golden',
  region: 'eu',
  origin,
  shardCount: 64,
  agreements: [{ name: '--grow-only', value: 'likes:' }],
  nowMs: 1_780_000_000_000.5,
  keys: 123_456,
} as const;

const tokens = {
  origin,
  fromRegion: 'eu',
  toRegion: 'us',
  request: 99,
  policy: 3,
  window: 1_780_000_000_000,
  subject: Buffer.from('customer-1'),
  hops: 1,
} as const;

const frames: Readonly<Record<string, Frame>> = {
  hello,
  'hello-range': { ...hello, highestProtocol: 3 },
  refusal: { kind: FrameKind.refusal, code: 'cluster', message: 'region eu is in another cluster' },
  feed: { kind: FrameKind.feed, origin, isWanted: true, watermarks: [0, 1, 127, 128, 2 ** 53 - 1] },
  batch: {
    kind: FrameKind.batch,
    batch: toBatch({
      shard: 3,
      origin: 0xa1,
      walk: 1,
      start: 10,
      from: 10,
      reached: 1002,
      to: 1003,
      components: [
        {
          key: 'visits',
          version: 1000,
          born: 900,
          present: true,
          positive: 2n ** 64n - 1n,
          negative: 2n,
          expiresAtMs: 1.8e12,
          decided: 950,
          floorMs: 3,
          cancels: [{ origin: 4, born: 8, positive: 1n, negative: 0n }],
        },
        {
          key: 'hits',
          version: 1002,
          born: 1002,
          present: false,
          positive: 0n,
          negative: 0n,
          expiresAtMs: 0,
          decided: 0,
          floorMs: 0,
          cancels: [],
        },
      ],
    }),
  },
  seen: {
    kind: FrameKind.seen,
    origin,
    ageMs: 12.5,
    isWhole: true,
    afterToken: 4_000_000,
    isKept: true,
    boot: 0,
    bootAgeMs: 0,
    shards: [0, 63],
    versions: [5, 2 ** 40],
  },
  ping: { kind: FrameKind.ping, token: 4_000_000 },
  pong: { kind: FrameKind.pong, token: 4_000_000, nowMs: 1_780_000_000_000 },
  digests: {
    kind: FrameKind.digests,
    origin,
    shards: [0, 63],
    versions: [5, 6],
    digests: ['0123456789abcdef', 'fedcba9876543210'],
    question: 0,
    isAnswer: false,
  },
  'digests-question': {
    kind: FrameKind.digests,
    origin,
    shards: [],
    versions: [],
    digests: [],
    question: 9,
    isAnswer: false,
  },
  'digests-answer': {
    kind: FrameKind.digests,
    origin,
    shards: [0, 1],
    versions: [5, 0],
    digests: ['0123456789abcdef', '0000000000000000'],
    question: 9,
    isAnswer: true,
  },
  ranges: { kind: FrameKind.ranges, origin, shard: 2, version: 77, digests: Int32Array.of(1, -1, 2 ** 31 - 1, 0) },
  inventory: {
    kind: FrameKind.inventory,
    origin,
    shard: 2,
    version: 77,
    rangeCount: 4,
    range: 1,
    wantsAnswer: true,
    keys: [Buffer.from('a'), Buffer.from('bc')],
    versions: [70, 71],
  },
  policies: { kind: FrameKind.policies, version: 7, body: policyBody },
  tokensWanted: { ...tokens, kind: FrameKind.tokensWanted, policiesVersion: 7, need: 50 },
  tokensAnswer: { ...tokens, kind: FrameKind.tokensAnswer, granted: 40 },
  policyChange: { kind: FrameKind.policyChange, request: 5, body: policyBody },
  policyAnswer: { kind: FrameKind.policyAnswer, request: 5, body: Buffer.from('{"value":"OK"}') },
};

test('there is a file for every kind of frame', () => {
  expect(Object.keys(frames)).toEqual(expect.arrayContaining(Object.keys(FrameKind)));
  if (!isUpdate()) expect(readdirSync(golden).sort()).toEqual(Object.keys(frames).map(fileOf).sort());
});

test.each(Object.entries(frames))('%s is written byte by byte as before, and read to the same frame', (name, frame) => {
  const path = `${golden}/${fileOf(name)}`;
  const written = hexOf(encodeFrame(frame));
  if (isUpdate()) {
    mkdirSync(golden, { recursive: true });
    writeFileSync(path, written);
  }
  const expected = readFileSync(path, 'utf8');
  expect(written).toBe(expected);
  const bytes = new Uint8Array(Buffer.from(expected.replaceAll('\n', ''), 'hex'));
  expect(plainOf(decodeFrame(bytes))).toEqual(plainOf(frame));
});

function isUpdate(): boolean {
  return process.env.UPDATE_GOLDEN === '1';
}

function fileOf(name: string): string {
  return `${name}.hex`;
}

/** 32 bytes a line. */
function hexOf(bytes: Uint8Array): string {
  return `${(
    Buffer.from(bytes)
      .toString('hex')
      .match(/.{1,64}/g) ?? []
  ).join('\n')}\n`;
}
