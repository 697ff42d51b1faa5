import { GrpcStatus } from '@quotadb/replication/grpc';
import { expect, test } from 'vitest';
import { Refusal } from '../deciding/refusal.js';
import { FrameWriter } from '../http2/frame-writer.js';
import { Http2Stream } from '../http2/stream.js';
import { HeldBytes } from './held-bytes.js';
import { LastingCall } from './lasting-call.js';
import type { Caller, LastingMethod, UnaryMethod } from './method.js';
import { UnaryCall, withPrefix } from './unary-call.js';

const CALLER: Caller = { mayCount: () => true };
const unary: UnaryMethod = { kind: 'unary', isOpen: true, answer: (message, _, done) => done(message) };
const lasting: LastingMethod = {
  kind: 'lasting',
  isOpen: true,
  open: () => ({ message: () => {}, ended: () => {}, closed: () => {} }),
};

/** A stream whose client has opened its window so far. */
function streamOf(sendWindow: number): Http2Stream {
  const host = {
    address: '',
    writer: new FrameWriter(),
    sendWindow: 65_535,
    waitingBytes: 0,
    written: () => {},
    waitForWindow: () => {},
    forget: () => {},
    answered: () => {},
  };
  return new Http2Stream(1, host, sendWindow);
}

function message(length: number): Buffer {
  const bytes = Buffer.alloc(5 + length);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

function begin(kind: 'unary' | 'lasting', held: HeldBytes, sendWindow = 65_535) {
  const stream = streamOf(sendWindow);
  const common = { timeoutMs: undefined, onError: () => {}, onClosed: () => {}, held };
  const call =
    kind === 'unary'
      ? new UnaryCall(stream, { ...common, method: unary })
      : new LastingCall(stream, { ...common, method: lasting });
  stream.receiver = call;
  call.begin(CALLER);
  return { stream, call };
}

test.each(['unary', 'lasting'] as const)(
  'messages of %s calls that have begun and not ended are bounded for all calls together, and make room when they go',
  (kind) => {
    const held = new HeldBytes(1000, 'calls');
    const [one, other] = [begin(kind, held), begin(kind, held)];
    const half = message(900).subarray(0, 600);
    one.call.data(half, false);
    other.call.data(half, false);
    expect([one.stream.isClosed, other.stream.isClosed]).toEqual([false, true]);
    one.stream.abort();
    const next = begin(kind, held);
    next.call.data(half, false);
    expect(next.stream.isClosed).toBe(false);
  },
);

test('a reply that its client makes no room for is held, bounded, and given up', () => {
  const held = new HeldBytes(150, 'calls');
  const slow = begin('unary', held, 0);
  slow.call.data(message(100), true);
  slow.stream.hasEnded = true;
  slow.call.ended();
  expect([slow.stream.isClosed, slow.call.waitsSinceMs < Number.POSITIVE_INFINITY]).toEqual([false, true]);
  expect(() => held.hold(100)).toThrow(Refusal);
  slow.call.refuse(new Refusal(GrpcStatus.deadlineExceeded, 'late'));
  expect(slow.stream.isClosed).toBe(true);
  held.hold(150);
});

test('a lasting call may be silent between messages for as long as it likes, and not inside one', () => {
  const { call } = begin('lasting', new HeldBytes(1000, 'calls'));
  call.data(message(100), false);
  expect(call.waitsSinceMs).toBe(Number.POSITIVE_INFINITY);
  call.data(message(100).subarray(0, 50), false);
  expect(call.waitsSinceMs).toBeLessThan(Number.POSITIVE_INFINITY);
  call.data(message(100).subarray(50), false);
  expect(call.waitsSinceMs).toBe(Number.POSITIVE_INFINITY);
});

test('a message that has begun takes as much memory as has come of it, however long it claims to be', () => {
  const held = new HeldBytes(2 ** 30, 'calls');
  const calls = Array.from({ length: 1000 }, () => begin('unary', held));
  const claim = Buffer.from(message(200_000).subarray(0, 6));
  const before = process.memoryUsage().arrayBuffers;
  for (const { call } of calls) call.data(claim, false);
  // 64 KiB each would be 65 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 25);
  expect(calls).toHaveLength(1000);
});

test('messages that come before the caller is known are delivered in order, and are few', () => {
  const seen: string[] = [];
  const open: LastingMethod['open'] = () => ({
    message: (bytes) => seen.push(bytes.toString()),
    ended: () => {},
    closed: () => {},
  });
  const start = () => {
    const stream = streamOf(65_535);
    const held = new HeldBytes(2 ** 20, 'calls');
    const common = { timeoutMs: undefined, onError: () => {}, onClosed: () => {}, held };
    const call = new LastingCall(stream, { ...common, method: { ...lasting, open } });
    stream.receiver = call;
    return { stream, call };
  };
  const patient = start();
  const both = Buffer.concat([withPrefix(Buffer.from('one')), withPrefix(Buffer.from('two'))]);
  for (const byte of both) patient.call.data(Buffer.of(byte));
  patient.call.begin(CALLER);
  expect(seen).toEqual(['one', 'two']);
  const flood = start();
  for (let count = 0; count < 100; count++) flood.call.data(withPrefix(Buffer.from('more')));
  expect(flood.stream.isClosed).toBe(true);
});

test('replies that the client of a lasting call makes no room for are held, and make room when they are taken', () => {
  const held = new HeldBytes(150, 'calls');
  const { stream, call } = begin('lasting', held, 0);
  call.data(message(1), false);
  (call as LastingCall).send(Buffer.alloc(95));
  expect(call.waitsSinceMs).toBeLessThan(Number.POSITIVE_INFINITY);
  expect(() => held.hold(60)).toThrow(Refusal);
  stream.sendWindow = 1000;
  stream.pump();
  (call as LastingCall).countReplies();
  expect(call.waitsSinceMs).toBe(Number.POSITIVE_INFINITY);
  held.hold(150);
  held.release(150);
  stream.sendWindow = 0;
  (call as LastingCall).send(Buffer.alloc(200));
  expect(stream.isClosed).toBe(true);
  held.hold(150);
});
