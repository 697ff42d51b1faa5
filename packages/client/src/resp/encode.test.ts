import { describe, expect, test } from 'vitest';
import { encodeCommand } from './encode.js';

function text(encoded: ReturnType<typeof encodeCommand>): string {
  return typeof encoded === 'string'
    ? encoded
    : encoded.map((piece) => Buffer.from(piece as string).toString()).join('');
}

describe('commands', () => {
  test('are arrays of bulk strings, counted in bytes', () => {
    expect(text(encodeCommand(['INCRBY', 'käse', 5, 2n ** 62n]))).toBe(
      '*4\r\n$6\r\nINCRBY\r\n$5\r\nkäse\r\n$1\r\n5\r\n$19\r\n4611686018427387904\r\n',
    );
  });

  test('bytes go as they are', () => {
    const encoded = encodeCommand(['GET', Uint8Array.of(0, 255, 13, 10)]);
    expect(Buffer.concat((encoded as (string | Uint8Array)[]).map((piece) => Buffer.from(piece as string)))).toEqual(
      Buffer.from('*2\r\n$3\r\nGET\r\n$4\r\n\x00\xff\r\n\r\n', 'latin1'),
    );
  });

  test.each([1.5, Number.NaN, 2 ** 53])('the number %s is refused', (value) => {
    expect(() => encodeCommand(['INCRBY', 'key', value])).toThrow(RangeError);
  });
});
