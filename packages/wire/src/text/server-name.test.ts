import { expect, test } from 'vitest';
import {
  isServerOf,
  MAXIMUM_SERVER_NAME_CHARACTERS,
  memberOfServer,
  regionOfServer,
  SERVER_NAME,
  serverName,
} from './server-name.js';

test('a lone server has the name of its region, and a member has its own behind a slash', () => {
  expect(serverName({ region: 'us', member: '' })).toBe('us');
  expect(serverName({ region: 'us', member: 'a' })).toBe('us/a');
  expect([regionOfServer('us'), memberOfServer('us')]).toEqual(['us', '']);
  expect([regionOfServer('us/a'), memberOfServer('us/a')]).toEqual(['us', 'a']);
});

test('a region stands for its lone server and for its members, and a member for itself', () => {
  expect(['us', 'us/a', 'us-a', 'usa', 'eu/us'].filter((name) => isServerOf(name, 'us'))).toEqual(['us', 'us/a']);
  expect(['us', 'us/a', 'us/b'].filter((name) => isServerOf(name, 'us/a'))).toEqual(['us/a']);
});

test('a name has at most two parts of the characters that a region may have', () => {
  const longest = `${'r'.repeat(32)}/${'m'.repeat(32)}`;
  expect(longest).toHaveLength(MAXIMUM_SERVER_NAME_CHARACTERS);
  for (const name of ['us', 'us/a', 'us-1/node-2', longest]) expect(name).toMatch(SERVER_NAME);
  for (const name of ['', '/', 'us/', '/a', 'us/a/b', 'US', 'us/A', 'us a', 'us.a', `${longest}m`, 'us/a\n'])
    expect(name).not.toMatch(SERVER_NAME);
});
