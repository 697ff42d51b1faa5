import { expect, test } from 'vitest';
import { Mistake } from './mistake.js';
import { parsePeerAddress, printPeerAddress } from './peer-address.js';

test.each(['eu=10.0.0.2:7380', 'us/b=10.0.0.3:7380', 'us-east-1=host.example:1', 'ap=[2001:db8::2]:65535'])(
  '%s is a peer',
  (text) => {
    expect(printPeerAddress(parsePeerAddress(text))).toBe(text);
  },
);

test.each([
  'eu',
  'eu=',
  'eu=host',
  'eu=host:0',
  'eu=host:65536',
  'eu=:7380',
  'eu=::1:7380',
  'EU=host:1',
  '=host:1',
  'eu=a b:1',
  'us/=host:1',
  'us/a/b=host:1',
])('%s is none, and why is said', (text) => {
  expect(() => parsePeerAddress(text)).toThrow(Mistake);
});
