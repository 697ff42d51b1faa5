import { ByteInput } from '@quotadb/engine';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CellKind, CellNames, cellName, isReservedName } from './cell-key.js';

const hex48 = (value: number) => value.toString(16).padStart(12, '0');

describe('the names of cells', () => {
  test('are made of these bytes', () => {
    const name = cellName(CellKind.window, 60_000, 1_763_251_260_000, Buffer.from('user:42'));
    expect(Buffer.from(name).toString('hex')).toBe(
      `00514477${hex48(60_000)}${hex48(1_763_251_260_000)}${Buffer.from('user:42').toString('hex')}`,
    );
  });

  test('are different for every kind, length, start and key', () => {
    const part = fc.record({
      kind: fc.constantFrom(CellKind.window, CellKind.rate),
      lengthMs: fc.maxSafeNat().map((value) => value % 2 ** 47),
      startMs: fc.maxSafeNat().map((value) => value % 2 ** 48),
      key: fc.uint8Array({ maxLength: 300 }),
    });
    const names = new CellNames(2);
    const nameOf = (
      index: number,
      { kind, lengthMs, startMs, key }: { kind: CellKind; lengthMs: number; startMs: number; key: Uint8Array },
    ) => {
      names.setHeader(index, kind, lengthMs, startMs);
      const length = names.setKey(index, ByteInput.copyOf(key), 0, key.length);
      const start = names.startOf(index);
      return Buffer.from(names.input.bytes.subarray(start, start + length));
    };
    fc.assert(
      fc.property(part, part, fc.boolean(), fc.boolean(), fc.boolean(), (one, two, sameKey, sameStart, sameLength) => {
        const other = {
          ...two,
          ...(sameKey && { key: one.key }),
          ...(sameStart && { startMs: one.startMs }),
          ...(sameLength && { lengthMs: one.lengthMs }),
        };
        const equal =
          one.kind === other.kind &&
          one.lengthMs === other.lengthMs &&
          one.startMs === other.startMs &&
          Buffer.from(one.key).equals(Buffer.from(other.key));
        const first = nameOf(0, one);
        expect(first.equals(nameOf(1, other))).toBe(equal);
        expect(first.equals(nameOf(0, one))).toBe(true);
        expect(isReservedName(first, 0, first.length)).toBe(true);
      }),
    );
  });
});
