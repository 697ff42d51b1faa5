import { describe, expect, test } from 'vitest';
import { HEADER_LIST_BYTES, MAXIMUM_HEADER_FIELDS } from './bounds.js';
import { ConnectionError, ErrorCode } from './frame.js';
import { HeaderDecoder } from './header-decoder.js';
import { encodeHeaders } from './header-encoder.js';

function decode(decoder: HeaderDecoder, hex: string) {
  const block = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return decoder.decode(block, 0, block.length);
}

function codeOf(work: () => unknown): number | undefined {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(ConnectionError);
    return (error as ConnectionError).code;
  }
  return undefined;
}

describe('the examples of RFC 7541', () => {
  test('C.3, literals: three requests on one connection, each with the table that the former left', () => {
    const decoder = new HeaderDecoder();
    const authority = '410f 7777 772e 6578 616d 706c 652e 636f 6d';
    expect(decode(decoder, `8286 84 ${authority}`)).toMatchObject({ method: 'GET', path: '/' });
    expect(decode(decoder, '8286 84be 5808 6e6f 2d63 6163 6865')).toMatchObject({ method: 'GET', path: '/' });
    const third = '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65';
    expect(decode(decoder, third)).toMatchObject({ method: 'GET', path: '/index.html' });
  });

  test('C.4, the same in Huffman code', () => {
    const decoder = new HeaderDecoder();
    expect(decode(decoder, '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).toMatchObject({ method: 'GET', path: '/' });
    expect(decode(decoder, '8286 84be 5886 a8eb 1064 9cbf')).toMatchObject({ method: 'GET', path: '/' });
    const third = '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf';
    expect(decode(decoder, third)).toMatchObject({ method: 'GET', path: '/index.html' });
  });

  test('C.6.3, a long text in Huffman code under a name of the table', () => {
    const cookie =
      '94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07';
    const length = (cookie.replaceAll(' ', '').length / 2) | 0x80;
    // As the value of `authorization` (23): a literal that is not added.
    const headers = decode(new HeaderDecoder(), `0f08 ${length.toString(16)} ${cookie}`);
    expect(headers.authorization).toBe('foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1');
  });
});

describe('a block that changes nothing is read once, as long as what it refers to stays', () => {
  const path = (text: string) => `44 ${text.length.toString(16).padStart(2, '0')} ${Buffer.from(text).toString('hex')}`;

  test('the same block is the same headers, until the table has changed', () => {
    const decoder = new HeaderDecoder();
    decode(decoder, `83 ${path('/one')}`);
    const first = decode(decoder, '83 be');
    expect(first).toMatchObject({ method: 'POST', path: '/one' });
    expect(decode(decoder, '83 be')).toBe(first);
    decode(decoder, `83 ${path('/two')}`);
    expect(decode(decoder, '83 be').path).toBe('/two');
    expect(decode(decoder, '83 bf').path).toBe('/one');
    decode(decoder, '20 83');
    expect(codeOf(() => decode(decoder, '83 be'))).toBe(ErrorCode.compression);
  });
});

test('our own header blocks are read as they were written, also with long texts', () => {
  for (const length of [0, 1, 125, 126, 127, 128, 254, 255, 4000]) {
    const path = 'x'.repeat(length);
    const block = encodeHeaders({ ':method': 'POST', ':path': path });
    expect(new HeaderDecoder().decode(block, 0, block.length)).toMatchObject({ method: 'POST', path });
  }
});

describe('blocks that no client sends are errors of the connection', () => {
  test.each([
    ['the field 0', '80'],
    ['a field that is not in the table', 'be'],
    ['a name that is not in the table', '7f 00 0161'],
    ['a text without its end', '0003 6162'],
    ['a text without its length', '00'],
    ['a number without its end', 'ff 80'],
    ['a number without bounds', 'ff ff ff ff ff ff ff ff ff ff 7f'],
    ['a number of zeroes without bounds', 'ff 80 80 80 80 80 80 80 80 80 80 00'],
    ['a table larger than was offered', '3f e2 1f'],
    ['a size of the table after a field', '82 20'],
    ['sizes of the table again and again', '20 20 20 82'],
    ['Huffman code with a padding of zeroes', '00 8118 00'],
    ['Huffman code with a byte of padding', '00 821fff 00'],
    ['Huffman code with its end in it', '00 84ffffffff 00'],
  ])('%s', (_, hex) => {
    expect(codeOf(() => decode(new HeaderDecoder(), hex))).toBe(ErrorCode.compression);
  });

  test('a few bytes that unfold to very many fields', () => {
    const decoder = new HeaderDecoder();
    expect(codeOf(() => decode(decoder, '82'.repeat(MAXIMUM_HEADER_FIELDS)))).toBeUndefined();
    expect(codeOf(() => decode(decoder, '82'.repeat(MAXIMUM_HEADER_FIELDS + 1)))).toBe(ErrorCode.enhanceYourCalm);
  });

  test('a few bytes that unfold to very long ones', () => {
    const decoder = new HeaderDecoder();
    const long = encodeHeaders({ x: 'y'.repeat(4000) });
    long[0] = 0x40;
    decoder.decode(long, 0, long.length);
    const count = Math.floor(HEADER_LIST_BYTES / 4033);
    expect(codeOf(() => decode(decoder, 'be'.repeat(count)))).toBeUndefined();
    expect(codeOf(() => decode(decoder, 'be'.repeat(count + 1)))).toBe(ErrorCode.enhanceYourCalm);
  });
});

test('any bytes are read, or are an error of the connection', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 5000; round++) {
    const decoder = new HeaderDecoder();
    const block = Buffer.from(Array.from({ length: random(60) }, () => random(256)));
    codeOf(() => decoder.decode(block, 0, block.length));
  }
});
