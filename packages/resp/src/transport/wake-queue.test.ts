import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AWAKE, type Sleeper, WakeQueue } from './wake-queue.js';

const action = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), who: fc.nat(19), at: fc.nat(50) }),
  fc.record({ kind: fc.constant('remove' as const), who: fc.nat(19), at: fc.constant(0) }),
  fc.record({ kind: fc.constant('take' as const), who: fc.constant(0), at: fc.nat(50) }),
);

test('sleepers are woken in time and in order, after any puts, moves and removals', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const everybody: Sleeper[] = Array.from({ length: 20 }, () => ({ wakeAtMs: 0, sleepIndex: AWAKE }));
      const queue = new WakeQueue<Sleeper>();
      const expected = new Map<Sleeper, number>();
      for (const { kind, who, at } of actions) {
        if (kind === 'put') {
          queue.put(everybody[who], at);
          expected.set(everybody[who], at);
        } else if (kind === 'remove') {
          queue.remove(everybody[who]);
          expected.delete(everybody[who]);
        } else {
          const earliest = Math.min(...expected.values());
          const taken = queue.takeDue(at);
          if (taken === undefined) {
            expect(earliest).toBeGreaterThan(at);
          } else {
            expect(expected.get(taken)).toBe(earliest);
            expect(taken.sleepIndex).toBe(AWAKE);
            expected.delete(taken);
          }
        }
        expect(queue.size).toBe(expected.size);
        expect(queue.earliestMs).toBe(Math.min(...expected.values()));
      }
    }),
  );
});
