import { expect, test } from 'vitest';
import { IncomingStreams } from './incoming-streams.js';
import type { Link } from './link.js';
import { WatermarkTable } from './watermarks.js';

const ORIGIN = 'aa';
const STALL_MS = 1000;

/** A link to a replica that has an origin's changes up to a version, and the times at which it was asked for them. */
function makeLink(peer = ORIGIN, version = 100): { link: Link; asked: number[]; clock: { nowMs: number } } {
  const seen = new WatermarkTable(1);
  seen.of(ORIGIN)[0] = version;
  const asked: number[] = [];
  const clock = { nowMs: 0 };
  const link = {
    isEstablished: true,
    mayRelay: true,
    origin: Buffer.from(peer, 'hex'),
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

test('an origin that has less than another replica says is an old copy: that one is asked, and then the origin again', () => {
  const [origin, relay] = [makeLink(), makeLink('cc', 200)];
  const seen = new Float64Array(1);
  const feeds = new IncomingStreams({
    links: [origin.link, relay.link],
    ownOrigin: 'bb',
    seenOf: () => seen,
    stallMs: STALL_MS,
  });
  const run = (fromMs: number, untilMs: number) => {
    for (let nowMs = fromMs; nowMs < untilMs; nowMs += 100) {
      origin.clock.nowMs = nowMs;
      relay.clock.nowMs = nowMs;
      feeds.choose(nowMs);
    }
  };
  run(1, 500);
  seen[0] = 100;
  run(501, 12_300);
  expect(relay.asked.length).toBeGreaterThan(0);
  expect(feeds.isSource(ORIGIN, relay.link)).toBe(true);
  const askedBefore = origin.asked.length;
  expect(askedBefore).toBeGreaterThan(3);
  seen[0] = 200;
  run(12_301, 13_300);
  expect(feeds.isSource(ORIGIN, origin.link)).toBe(true);
  expect(origin.asked.length).toBe(askedBefore + 1);
});
