import { expect, test } from 'vitest';
import { TestLane } from '../testing/index.js';
import { readCorpus } from './corpus.js';
import { Mutator } from './mutate.js';

const corpus = readCorpus('resp');
const everything = corpus.map(({ bytes }) => bytes);
const SEEDS = 300;
const QUERY_LIMIT_BYTES = 1024 * 1024;

test.each(corpus.map(({ name, bytes }) => [name, bytes] as const))(
  'what is nearly %s breaks no session, and no other connection notices',
  (_, bytes) => {
    const lane = new TestLane({ queryBufferLimitBytes: QUERY_LIMIT_BYTES });
    const steady = lane.open();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const mutator = new Mutator(seed);
      const hostile = mutator.mutate(bytes, everything);
      const session = lane.open();
      for (let position = 0; position < hostile.length && !session.client.closing; ) {
        const length = 1 + mutator.below(200);
        session.send(hostile.subarray(position, position + length));
        position += length;
        if (session.session.waitMs >= 0) session.resume();
        expect(session.client.bufferedInputBytes).toBeLessThanOrEqual(QUERY_LIMIT_BYTES);
      }
      session.destroy();
      // Mutated commands may have reached it through the configuration or by name, which is their right.
      expect([seed, lane.faults]).toEqual([seed, []]);
      expect([seed, steady.call('PING', 'x')]).toEqual([seed, expect.stringMatching(/^(?:\$1\r\nx|-NOAUTH)/)]);
    }
  },
);
