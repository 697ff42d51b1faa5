import { expect, test } from 'vitest';
import { parseResidentBytes, residentBytes } from './resident-memory.js';

test('the resident memory is read from the status of a process', () => {
  expect(parseResidentBytes('Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t   512 kB\n')).toBe(524_288);
  expect(parseResidentBytes('Name:\tkernel thread\n')).toBeUndefined();
});

test.runIf(process.platform === 'linux')('touching memory shows in it', () => {
  const before = residentBytes(process.pid)!;
  const touched = Buffer.alloc(64 * 1024 * 1024, 1);
  expect(residentBytes(process.pid)! - before).toBeGreaterThan(touched.length / 2);
});

test('a process that is not there has none', () => {
  expect(residentBytes(2 ** 30)).toBeUndefined();
});
