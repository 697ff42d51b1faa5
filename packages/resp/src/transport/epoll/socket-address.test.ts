import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Libc } from './libc.js';
import { describeEnd, encodeAddress } from './socket-address.js';

/** A socket whose other end is at this address. */
function socketOf(address: Uint8Array): Libc {
  return {
    getpeername(_fd: number, bytes: Uint8Array) {
      bytes.set(address);
      return 0;
    },
  } as Partial<Libc> as Libc;
}

function roundTrip(host: string, port: number): string {
  return describeEnd(socketOf(encodeAddress(host, port).bytes), 3, 'peer');
}

test('addresses come back as they went in', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 0, max: 65_535 }), (host, port) => {
      expect(roundTrip(host, port)).toBe(`${host}:${port}`);
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (groups) => {
      const written = groups.map((group) => group.toString(16)).join(':');
      const shown = /^\[(.*)\]:80$/.exec(roundTrip(written, 80))?.[1] ?? '';
      // However it is shown, it is the same address.
      expect(encodeAddress(shown, 80)).toEqual(encodeAddress(written, 80));
    }),
  );
});

test.each([
  ['::1', '[::1]:80'],
  ['::', '[::]:80'],
  ['2001:db8::ff00:42:8329', '[2001:db8::ff00:42:8329]:80'],
  ['::ffff:192.0.2.1', '[::ffff:192.0.2.1]:80'],
])('%s is shown as %s', (host, expected) => {
  expect(roundTrip(host, 80)).toBe(expected);
});

test('a name is no address', () => {
  expect(() => encodeAddress('localhost', 80)).toThrow(/is not an IP address/);
});
