import { expect, test } from 'vitest';
import { hashPassword, passwordMatches } from './secrets.js';

test('a password is compared to its last byte: zero bytes behind it make it another', async () => {
  const hash = await hashPassword(Buffer.from('secret'));
  for (const wrong of ['secret\0', 'secret\0\0', '\0secret', 'secret ', 'secre', '\0', '']) {
    expect([wrong, await passwordMatches(Buffer.from(wrong), hash)]).toEqual([wrong, false]);
  }
  expect(await passwordMatches(Buffer.from('secret'), hash)).toBe(true);
  const inside = await hashPassword(Buffer.from('sec\0ret'));
  expect(await passwordMatches(Buffer.from('sec\0ret'), inside)).toBe(true);
  await expect(hashPassword(Buffer.from('secret\0'))).rejects.toThrow('a password cannot end with a zero byte');
});
