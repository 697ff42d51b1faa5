import { Batch, ByteInput, batchSince, NOT_PASSED, OWN_ORIGIN, splitInt64, walkSince } from '@quotadb/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeEngine, START_MS } from '../testing/counters.js';
import { writeBatch } from '../testing/write-batch.js';
import { ByteWriter } from './bytes.js';
import { SectionTarget } from './section-target.js';

const LIMITS = { components: 5, keyBytes: 1000 };

const change = fc.record({
  key: fc.oneof(fc.constantFrom('', 'user', 'user:1', 'user:2', 'usage'), fc.string({ maxLength: 12 })),
  what: fc.oneof(
    fc.bigInt({ min: -300n, max: 300n }),
    fc.constant(1n << 40n),
    fc.constantFrom('remove' as const, 'expire' as const, 'persist' as const),
  ),
});

test('a walk is written as its batches would be, byte for byte', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const engine = makeEngine();
      // A peer has to acknowledge the removal, so the component stays.
      for (let shard = 0; shard < engine.shardCount; shard++) engine.acknowledge(shard, 0);
      for (const { key, what } of changes) {
        const bytes = Buffer.from(key);
        engine.open(ByteInput.copyOf(bytes), 0, bytes.length);
        if (what === 'remove') engine.remove();
        else if (what === 'expire') engine.expireAt(START_MS + 1000);
        else if (what === 'persist') engine.persist();
        else engine.add(...splitInt64(what));
        engine.close();
      }
      for (let shard = 0; shard < engine.shardCount; shard++) {
        const [direct, through] = [new ByteWriter(16), new ByteWriter(16)];
        const section = new SectionTarget(direct);
        for (let from = 0, passed = NOT_PASSED; ; ) {
          const batch = batchSince(engine, shard, OWN_ORIGIN, from, new Batch(), LIMITS, 0, passed);
          writeBatch(through, batch, true);
          section.begin(shard, undefined);
          walkSince(engine, shard, OWN_ORIGIN, from, section, LIMITS, 0, passed);
          section.end();
          expect([section.reached, section.to, section.passed]).toEqual([batch.reached, batch.to, batch.passed]);
          if (batch.to !== 0 || batch.count === 0) break;
          from = batch.reached;
          passed = batch.passed;
        }
        expect(direct.bytes.subarray(0, direct.length)).toEqual(through.bytes.subarray(0, through.length));
      }
    }),
  );
});
