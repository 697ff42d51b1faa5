import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeCommand, TestLane } from '../testing/index.js';

/** Words that make many of the commands do something, and some that no command expects. */
const word = fc.oneof(
  fc.constantFrom('a', 'b', '1', '-7', '0', '9223372036854775807', 'EX', '10', 'NX', 'GET', 'ON', 'OFF', 'SKIP', '*'),
  fc.string({ maxLength: 8 }),
  fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);

/** Not those that end the conversation, wait, or reply with times or ids, which differ from run to run. */
const name = fc.constantFrom(
  ...['INCR', 'DECR', 'INCRBY', 'GET', 'SET', 'MGET', 'MSET', 'DEL', 'EXISTS', 'EXPIRE', 'TTL', 'PERSIST', 'TYPE'],
  ...['PING', 'ECHO', 'MULTI', 'EXEC', 'DISCARD', 'WATCH', 'UNWATCH', 'SELECT', 'HELLO', 'RESET', 'COMMAND', 'DBSIZE'],
  ...['CLIENT', 'CONFIG', 'SCRIPT', 'FUNCTION', 'MEMORY', 'ACL', 'EVAL', 'SUBSCRIBE', 'nonsense', ''],
);

const commandText = fc
  .tuple(name, fc.array(word, { maxLength: 4 }))
  .map(([first, rest]) => encodeCommand(first, ...rest));

const lineText = fc.constantFrom('INCR a\r\n', 'MGET a "b"\r\n', 'PING\n', '\r\n', '*0\r\n');

test('neither how the bytes are cut nor reading ahead changes a reply', () => {
  const texts = fc.array(fc.oneof({ arbitrary: commandText, weight: 9 }, lineText), { maxLength: 60 });
  fc.assert(
    fc.property(texts, fc.array(fc.nat({ max: 400 })), fc.boolean(), (pieces, cuts, isAhead) => {
      const text = pieces.join('');
      const whole = new TestLane().open().send(text);
      const lane = new TestLane();
      if (isAhead) lane.lane.engine.ahead.usefulFromBytes = 0;
      const session = lane.open();
      let replies = '';
      let start = 0;
      for (const cut of cuts) {
        replies += session.send(text.slice(start, start + cut));
        start += cut;
      }
      replies += session.send(text.slice(start));
      expect(replies).toBe(whole);
      expect(lane.faults).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test('random bytes throw nothing, keep nothing for long, and do not disturb another connection', () => {
  const lane = new TestLane({ queryBufferLimitBytes: 200_000 });
  const steady = lane.open();
  let expected = 0;
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    fc.constantFrom('*', '$', '\r\n', '*3\r\n', '$3\r\n', '*-1\r\n', '$-1\r\n', '"', "'", 'PING\r\n', '*99999999\r\n'),
    fc.constantFrom('*1\r\n$400000000\r\n', '*1048576\r\n', '\0', 'x'.repeat(70_000), 'DEBUG SLEEP 9\r\n'),
    commandText,
  );
  fc.assert(
    fc.property(fc.array(noise, { maxLength: 20 }), (pieces) => {
      const session = lane.open();
      for (const piece of pieces) {
        session.send(piece);
        expect(session.client.bufferedInputBytes).toBeLessThanOrEqual(lane.config.queryBufferLimitBytes + 70_000);
        if (session.session.waitMs >= 0) session.resume();
        if (session.client.closing) break;
      }
      session.destroy();
      expect(steady.call('INCR', 'steady')).toBe(`:${++expected}\r\n`);
      if (lane.lane.engine.keyCount() > 1000) {
        lane.lane.engine.removeAll();
        expected = 0;
      }
      // Noise may reach it by name.
      steady.call('SET', 'steady', expected);
    }),
    { numRuns: 500 },
  );
  expect(lane.faults).toEqual([]);
});
