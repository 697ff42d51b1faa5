import { aheadMs, versionAt } from '@quotadb/engine';
import fc from 'fast-check';
import type { PlainBatch, PlainComponent } from './components.js';

/** Well-formed batches with numbers that are chosen to do harm: at the edges of fields, and around the latest time. */
export function hostileBatches(nowMs: number, keys: readonly string[]): fc.Arbitrary<PlainBatch> {
  const latestMs = nowMs + aheadMs(0);
  const times = [nowMs, latestMs, nowMs - 1000, nowMs + 1000, nowMs - 3_600_000, nowMs + 3_600_000].flatMap(
    (timeMs) => [timeMs - 1, timeMs, timeMs + 1],
  );
  const edges = [
    0,
    1,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 52,
    2 ** 53 - 2 ** 40,
    2 ** 53 - 2,
    2 ** 53 - 1,
  ];
  const versions = times.flatMap((timeMs) => [versionAt(timeMs) - 1, versionAt(timeMs), versionAt(timeMs) + 1]);
  const recent = fc.integer({ min: versionAt(nowMs - 10_000), max: versionAt(nowMs) });
  const version = fc.oneof(
    { weight: 6, arbitrary: recent },
    { weight: 2, arbitrary: fc.constantFrom(...versions) },
    { weight: 1, arbitrary: fc.constantFrom(...edges) },
  );
  const time = fc.oneof(fc.constantFrom(...times), fc.constantFrom(...edges));
  const amount = fc.constantFrom(
    0n,
    1n,
    5n,
    2n ** 31n,
    2n ** 32n,
    2n ** 53n,
    2n ** 63n - 1n,
    2n ** 63n,
    2n ** 64n - 1n,
  );
  const rarely = <T>(value: T, arbitrary: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary });

  const component: fc.Arbitrary<PlainComponent> = fc
    .record({
      key: fc.constantFrom(...keys),
      version,
      age: rarely(0, fc.oneof(fc.nat(100_000), fc.constantFrom(...edges))),
      present: fc.boolean(),
      positive: amount,
      negative: rarely(0n, amount),
      expiry: fc.option(fc.record({ expiresAtMs: time, decided: version.map((value) => Math.max(1, value)) })),
      floorMs: rarely(0, time),
      cancels: rarely(
        [],
        fc.array(fc.record({ origin: fc.nat(3), born: version, positive: amount, negative: amount }), { maxLength: 3 }),
      ),
    })
    // Most of the generations that are over have nothing left, as they should.
    .map(({ age, expiry, ...rest }) => ({
      age,
      ...(rest.present || rest.positive === 5n ? { ...rest, expiry } : over(rest)),
    }))
    .map(({ age, expiry, ...rest }) => ({
      ...rest,
      born: rest.version - Math.min(age, rest.version),
      expiresAtMs: expiry?.expiresAtMs ?? 0,
      decided: expiry?.decided ?? 0,
    }));
  return fc
    .record({
      shard: rarely(0, fc.constantFrom(1, 65_535)),
      origin: fc.constantFrom(2, 3),
      walk: fc.constantFrom(0, 1, 2 ** 53 - 1),
      start: rarely(0, version),
      from: rarely(0, version),
      reached: version,
      to: version,
      components: fc.array(component, { minLength: 1, maxLength: 4 }),
    })
    .map((batch) => ({ ...batch, components: batch.components.toSorted((a, b) => a.version - b.version) }));
}

function over<T extends object>(component: T): T & { positive: bigint; negative: bigint; expiry: null } {
  return { ...component, positive: 0n, negative: 0n, expiry: null };
}
