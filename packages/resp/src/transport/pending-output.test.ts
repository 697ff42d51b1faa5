import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PendingOutput } from './pending-output.js';

test('bytes come out as they went in, whatever the pieces', () => {
  const step = fc.oneof(fc.nat(40_000), fc.integer({ min: -40_000, max: -1 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pending = new PendingOutput();
      let written = 0;
      let read = 0;
      for (const count of steps) {
        if (count >= 0) {
          pending.append(Uint8Array.from({ length: count }, (_, index) => (written + index) % 251));
          written += count;
        } else {
          const taken = Math.min(-count, pending.length);
          const bytes = pending.view().subarray(0, taken);
          expect(bytes.every((byte, index) => byte === (read + index) % 251)).toBe(true);
          pending.consume(taken);
          read += taken;
        }
        expect(pending.length).toBe(written - read);
      }
    }),
    { numRuns: 50 },
  );
});

test('a client that reads slowly costs at most four times the memory of its waiting bytes', () => {
  const pending = new PendingOutput();
  const chunk = new Uint8Array(1000);
  for (let round = 0; round < 100_000; round++) {
    pending.append(chunk);
    if (pending.length > 1_000_000) pending.consume(1000);
  }
  expect(pending.view().buffer.byteLength).toBeLessThanOrEqual(4 * 1024 * 1024);
  pending.consume(pending.length);
  expect(pending.view().buffer.byteLength).toBe(0);
});
