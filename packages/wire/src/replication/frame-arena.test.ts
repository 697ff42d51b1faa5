import { expect, test } from 'vitest';
import { FrameArena } from './frame-arena.js';

const FRAME_BYTES = 20_000;
const filled = (value: number) => new Uint8Array(FRAME_BYTES).fill(value);
const isFilled = (frame: Uint8Array, value: number) => frame.every((byte) => byte === value);

test('frames stay as they are until their arena is reused, however many there are', () => {
  for (const maximumBuffers of [1, 3]) {
    const arena = new FrameArena(maximumBuffers);
    const frames = Array.from({ length: 100 }, (_, index) => arena.copyOf(filled(index), FRAME_BYTES));
    expect(frames.every((frame, index) => isFilled(frame, index))).toBe(true);
  }
});

test('an arena that is reused takes no new memory', () => {
  const arena = new FrameArena(3);
  const buffers = new Set<ArrayBufferLike>();
  for (let tick = 0; tick < 10; tick++) {
    for (let index = 0; index < 30; index++) buffers.add(arena.copyOf(filled(index), FRAME_BYTES).buffer);
    arena.reuse();
  }
  expect(buffers.size).toBe(3);
});

test('frames that were released are not written over', () => {
  const arena = new FrameArena(3);
  const frames = [1, 2, 3].map((value) => arena.copyOf(filled(value), FRAME_BYTES));
  arena.release();
  for (let index = 0; index < 30; index++) arena.copyOf(filled(9), FRAME_BYTES);
  arena.reuse();
  for (let index = 0; index < 30; index++) arena.copyOf(filled(9), FRAME_BYTES);
  expect(frames.map((frame, index) => isFilled(frame, index + 1))).toEqual([true, true, true]);
});

test('a long frame has memory of its own', () => {
  const arena = new FrameArena(1);
  const frame = arena.copyOf(new Uint8Array(300_000).fill(7), 300_000);
  arena.reuse();
  arena.copyOf(filled(8), FRAME_BYTES);
  expect(frame.length).toBe(300_000);
  expect(frame.every((byte) => byte === 7)).toBe(true);
});
