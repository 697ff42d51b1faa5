import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { add, bytesOf, read, scanAll } from '../testing/single-key.js';
import {
  bornOf,
  clearComponent,
  EPOCH_MS,
  Flag,
  isForeign,
  isPresent,
  keyLengthOf,
  setBorn,
  setVersion,
  timeOfVersion,
  versionAt,
  versionOf,
} from './record.js';

const MOST = 2 ** 53 - 1;
const versions = fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, MOST), fc.integer({ min: 0, max: MOST }));

describe('a component', () => {
  test('keeps version, birth, detail and flags apart, whatever their values', () => {
    fc.assert(
      fc.property(
        versions,
        versions,
        fc.integer({ min: 0, max: 65536 }),
        fc.boolean(),
        (version, born, length, present) => {
          const memory = new Int32Array(16);
          clearComponent(memory, 2, length, present ? Flag.present | Flag.counted : 0);
          setBorn(memory, 2, born);
          setVersion(memory, 2, version);
          expect(versionOf(memory, 2)).toBe(version);
          expect(bornOf(memory, 2)).toBe(born);
          expect(keyLengthOf(memory, 2)).toBe(length);
          expect(isPresent(memory, 2)).toBe(present);
          expect(isForeign(memory, 2)).toBe(false);
        },
      ),
    );
  });
});

describe('versions', () => {
  test('date the change', () => {
    fc.assert(
      fc.property(fc.integer({ min: EPOCH_MS, max: EPOCH_MS + 30 * 365 * 86_400_000 }), (timeMs) => {
        expect(timeOfVersion(versionAt(timeMs))).toBe(timeMs);
        expect(timeOfVersion(versionAt(timeMs + 1) - 1)).toBe(timeMs);
      }),
    );
  });

  test('a clock a century ahead damages no record', () => {
    const engine = Engine.format({
      maxMemoryBytes: 4 * 1024 * 1024,
      origin: new Uint8Array(32),
      nowMs: Date.UTC(2126, 0, 1),
      shardCount: 1,
    });
    for (let turn = 0; turn < 3; turn++) add(engine, 'visits', 2n);
    expect(read(engine, 'visits').value).toBe(6n);
    expect(scanAll(engine)).toEqual([bytesOf('visits')]);
    checkConsistency(engine);
  });
});
