import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import { findQuotaDB, requireQuotaDB } from './quotadb.js';

test('the program that runs the bench is measured; else that of the package installed near it', () => {
  const running = join(temporaryDirectory(), 'quotadb.js');
  writeFileSync(running, '');
  expect(findQuotaDB(running)).toBe(running);
  expect(findQuotaDB('/somewhere/vitest.mjs')).toMatch(/bin\/quotadb\.js$/);
  expect(requireQuotaDB('/given/quotadb.js')).toBe('/given/quotadb.js');
});
