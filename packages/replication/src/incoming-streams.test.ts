import { expect, test } from 'vitest';
import { IncomingStreams } from './incoming-streams.js';
import type { Link } from './link.js';
import { WatermarkTable } from './watermarks.js';

const ORIGIN = 'aa';
const STALL_MS = 1000;

/** A link to an origin that is ahead, and the times at which it was asked for its changes. */
function makeLink(): { link: Link; asked: number[]; clock: { nowMs: number } } {
  const seen = new WatermarkTable(1);
  seen.of(ORIGIN)[0] = 100;
  const asked: number[] = [];
  const clock = { nowMs: 0 };
  const link = {
    isEstablished: true,
    mayRelay: true,
    origin: Buffer.from(ORIGIN, 'hex'),
    member: { seen },
    requestStream: () => asked.push(clock.nowMs),
    cancelStream: () => {},
  } as unknown as Link;
  return { link, asked, clock };
}

test('what should have come and did not is asked for again', () => {
  const { link, asked, clock } = makeLink();
  const feeds = new IncomingStreams({
    links: [link],
    ownOrigin: 'bb',
    seenOf: () => new Float64Array(1),
    stallMs: STALL_MS,
  });
  for (let nowMs = 1; nowMs < 2500; nowMs += 100) {
    clock.nowMs = nowMs;
    feeds.choose(nowMs);
  }
  expect(asked).toEqual([1, 1001, 2001]);
});

test('a walk that takes longer is not begun again as long as its parts come', () => {
  const { link, asked, clock } = makeLink();
  const feeds = new IncomingStreams({
    links: [link],
    ownOrigin: 'bb',
    seenOf: () => new Float64Array(1),
    stallMs: STALL_MS,
  });
  for (let nowMs = 1; nowMs < 10_000; nowMs += 100) {
    clock.nowMs = nowMs;
    feeds.noteArrival(ORIGIN, link, nowMs);
    feeds.choose(nowMs);
  }
  expect(asked).toEqual([1]);
});

test('what cannot be applied now is asked for again after a pause, and not from the same peer before', () => {
  const { link, asked, clock } = makeLink();
  const feeds = new IncomingStreams({
    links: [link],
    ownOrigin: 'bb',
    seenOf: () => new Float64Array(1),
    stallMs: STALL_MS,
  });
  for (let nowMs = 1; nowMs < 25_000; nowMs += 100) {
    clock.nowMs = nowMs;
    feeds.choose(nowMs);
    feeds.pause(ORIGIN, link, nowMs);
  }
  expect(asked).toEqual([1, 10_001, 20_001]);
});
