import { ByteInput } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RepeatedArgument } from './repeated-argument.js';

/** A request with one argument, which lies behind others. */
function requestOf(text: string, padding: string): Request {
  const bytes = Buffer.from(padding + text + padding, 'latin1');
  return {
    input: ByteInput.copyOf(bytes),
    argumentCount: 1,
    argumentStart: Int32Array.of(padding.length),
    argumentLength: Int32Array.of(text.length),
  };
}

test('an argument is recognized only by all of its bytes', () => {
  // Few letters, so that many pairs of words differ in one byte.
  const words = fc.string({ unit: fc.constantFrom('0', '1'), maxLength: 14 });
  fc.assert(
    fc.property(words, words, fc.constantFrom('', '$', '0', '11111'), (kept, next, padding) => {
      const last = new RepeatedArgument();
      expect(last.is(requestOf(next, padding), 0)).toBe(false);
      expect(last.keep(requestOf(kept, padding), 0, 17)).toBe(17);
      if (last.is(requestOf(next, padding), 0)) expect([next, last.value]).toEqual([kept, 17]);
      const isKept = kept.length > 0 && kept.length <= 12;
      expect(last.is(requestOf(kept, `${padding}x`), 0)).toBe(isKept);
    }),
    { numRuns: 5000 },
  );
});
